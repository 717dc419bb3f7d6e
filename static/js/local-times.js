// Shows the times of a shared page in the zone of its reader, as the server wrote them in its own.
addEventListener("DOMContentLoaded", () => {
  const { lang, dataset } = document.documentElement;
  if (!("localTimes" in dataset)) return;
  const locale = lang === "en" ? "en-GB" : lang;
  const date = { day: "numeric", month: "short", year: "numeric" };
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const seconds = { ...clock, second: "2-digit" };
  const said = (options) => new Intl.DateTimeFormat(locale, options);
  const [inList, inText, exactly] = [seconds, { ...date, ...clock }, { ...date, ...seconds, timeZoneName: "short" }].map(said);
  for (const time of document.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    time.textContent = ("clock" in time.dataset ? inList : inText).format(moment);
    time.title = exactly.format(moment);
  }
});
