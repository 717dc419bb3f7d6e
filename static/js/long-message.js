// A long message opens where the browser has found something in it, and stays in view when it is folded again.
{
  const scroller = () => document.getElementById("scroll");
  // What is unfolded goes on beneath what was shown.
  let opened = null;
  document.addEventListener("click", ({ target }) => {
    const more = target.closest?.(".message__more:not([open]) > summary")?.parentElement;
    opened = more && { more, top: more.previousElementSibling.getBoundingClientRect().top };
  });
  document.addEventListener("toggle", ({ target }) => {
    if (target !== opened?.more || !target.open) return;
    const { more, top } = opened;
    const settle = () => scroller()?.scrollBy({ top: more.previousElementSibling.getBoundingClientRect().top - top, behavior: "instant" });
    settle();
    requestAnimationFrame(settle);
  }, true);
  document.addEventListener(
    "scroll",
    ({ target }) => {
      const more = target.nextElementSibling;
      if (!more?.matches(".message__more:not([open])")) return;
      const top = target.getBoundingClientRect().top - target.scrollTop;
      target.scrollTop = 0;
      more.querySelector("summary").click(); // as the user would, who then no longer follows the end
      opened = null;
      // What was found stays where it is, once the browser has done its own to keep what is below in place.
      const settle = () => scroller()?.scrollBy({ top: target.getBoundingClientRect().top - top, behavior: "instant" });
      requestAnimationFrame(() => requestAnimationFrame(settle));
    },
    true,
  );
  document.addEventListener(
    "toggle",
    ({ target }) => {
      if (!target.matches(".message__more:not([open])") || !scroller()) return;
      const body = target.previousElementSibling;
      const isAbove = body.getBoundingClientRect().top < scroller().getBoundingClientRect().top;
      if (isAbove) body.scrollIntoView({ block: "start", behavior: "instant" });
    },
    true,
  );
}
