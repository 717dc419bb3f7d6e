// Tells the server the browser's time zone if it keeps another one, or none for the language of this page.
addEventListener("DOMContentLoaded", () => {
  const { browserZone } = document.documentElement.dataset;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const token = document.querySelector("[name=csrfmiddlewaretoken]");
  if (browserZone === undefined || browserZone === zone || !token) return;
  const body = new FormData();
  body.append("csrfmiddlewaretoken", token.value);
  body.append("time_zone", zone);
  post("/settings/preferences/browser/", body).catch(() => {}); // the next page tries again
});

// Other tabs are redrawn when language, theme or time zone were changed in Preferences.
addEventListener("DOMContentLoaded", () => {
  const { lang, dataset } = document.documentElement;
  if (document.getElementById("preferences")) kept.set("look", `${lang} ${dataset.theme} ${dataset.zone}`);
});
addEventListener("storage", ({ key, oldValue }) => {
  if (key === "look" && oldValue) location.reload();
});
