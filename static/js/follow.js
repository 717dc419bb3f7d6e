// Keeps the end of the transcript in view, but only for a person who is there.
addEventListener("DOMContentLoaded", () => {
  const view = document.getElementById("scroll");
  if (!view) return;
  let following = true;
  const toEnd = () => {
    if (following) view.scrollTop = view.scrollHeight;
  };
  view.addEventListener("scroll", () => {
    following = view.scrollHeight - view.scrollTop - view.clientHeight < 40;
  });
  const sizes = new ResizeObserver(toEnd);
  sizes.observe(view);
  sizes.observe(document.getElementById("transcript"));
  // Whoever sends a message wants to see what comes of it.
  document.addEventListener("htmx:ws:after:message:outgoing", () => {
    following = true;
    toEnd();
  });
});
