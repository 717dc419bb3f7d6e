// Tells the server the browser's time zone if it keeps another one, or none for the language of this page. A tab that was
// away for a while tells it too, as another browser of the user may have told its own. Where that changes the times of
// this page, they are drawn anew.
{
  const AWAY = 60_000; // milliseconds
  const CHANGED = 205; // the status of such an answer
  const keptZone = () => document.documentElement.dataset.browserZone;
  const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
  const tellZone = async () => {
    const token = document.querySelector("[name=csrfmiddlewaretoken]");
    if (keptZone() === undefined || !token) return;
    const body = new FormData();
    body.append("csrfmiddlewaretoken", token.value);
    body.append("time_zone", zone());
    const { status } = await post("/settings/preferences/browser/", body).catch(() => ({})); // the next page tries again
    if (status === CHANGED && document.querySelector("#content time[datetime]")) location.reload();
  };
  addEventListener("DOMContentLoaded", () => keptZone() !== zone() && tellZone());
  let left = Infinity; // when the tab went out of view
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && Date.now() - left > AWAY) tellZone();
    left = document.hidden ? Date.now() : Infinity;
  });
}

// Other tabs are redrawn when language, theme or time zone were changed in Preferences.
addEventListener("DOMContentLoaded", () => {
  const { lang, dataset } = document.documentElement;
  if (document.getElementById("preferences")) kept.set("look", `${lang} ${dataset.theme} ${dataset.zone}`);
});
addEventListener("storage", ({ key, oldValue }) => {
  if (key === "look" && oldValue) location.reload();
});
