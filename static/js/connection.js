// Says whether the page is live. A socket counts as live once its first snapshot is on the page.
{
  const show = (state) => {
    const place = document.getElementById("connection");
    if (place) place.dataset.state = state;
  };
  document.addEventListener("htmx:ws:after:message:incoming", () => show("live"));
  document.addEventListener("htmx:ws:close", () => show("reconnecting"));
}
