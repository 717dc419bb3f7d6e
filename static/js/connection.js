// Says whether the page is live. A socket counts as live once its first snapshot is on the page.
{
  const show = (state) => {
    const place = document.getElementById("connection");
    if (place) place.dataset.state = state;
  };
  document.addEventListener("htmx:ws:after:message:incoming", () => show("live"));
  document.addEventListener("htmx:ws:close", (event) => {
    // 4404: deleted, or signed out. The page that stands there now says which; the draft is kept.
    if (event.detail.code === 4404) location.reload();
    else show("reconnecting");
  });
}
