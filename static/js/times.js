// Shows times marked data-recent as "just now" or "2 min ago" for a day. The server's text, a date, is kept for afterwards.
{
  const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
  const OFTEN = 30_000; // milliseconds between updates
  const relative = new Intl.RelativeTimeFormat(document.documentElement.lang, { style: "short" });
  const ago = (passed) => {
    if (passed < MINUTE) return document.documentElement.dataset.justNow;
    const [size, unit] = passed < HOUR ? [MINUTE, "minute"] : [HOUR, "hour"];
    return relative.format(-Math.floor(passed / size), unit).replace(".", "");
  };

  const update = () => {
    if (document.hidden) return;
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-recent]")) {
      const passed = now - Date.parse(time.dateTime);
      if (passed >= DAY && !time.dataset.text) continue;
      time.dataset.text ??= time.textContent;
      const text = passed < DAY ? ago(passed) : time.dataset.text;
      if (time.textContent !== text) time.textContent = text;
    }
  };
  queueMicrotask(update); // before the page is painted
  document.addEventListener("htmx:after:swap", update);
  document.addEventListener("visibilitychange", update);
  setInterval(update, OFTEN);
}
