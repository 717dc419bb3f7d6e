// Counts the seconds of `.elapsed` times, by the server's clock: as `12 s` or `0:12`, from a minute on as `1:00`.
{
  let page; // the element that told the server's time
  let ahead = 0; // milliseconds by which this clock is ahead of the server's
  const two = (number) => String(number).padStart(2, "0");
  const clock = (seconds) => {
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}`;
  };
  // A page that Back brings from the browser's cache tells the time at which it was made.
  let isOld = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  const learn = (now) => {
    ahead = isOld ? Number(keptInTab.get("clock") ?? 0) : Date.now() - Date.parse(now);
    keptInTab.set("clock", ahead);
    isOld = false;
  };
  const tick = () => {
    const told = document.querySelector("[data-now]");
    if (told && told !== page) learn(told.dataset.now);
    page = told;
    for (const place of document.querySelectorAll(".elapsed")) {
      const since = Math.max(0, Math.floor((Date.now() - ahead - Date.parse(place.dateTime)) / 1000));
      const short = since < 60 && !place.textContent.includes(":");
      place.textContent = short ? place.textContent.replace(/\d+/, since) : clock(since);
    }
  };
  onContent(tick);
  setInterval(tick, 1000);
}
