// Counts the seconds of `.elapsed` times, by the server's clock.
addEventListener("DOMContentLoaded", () => {
  const page = document.querySelector("[data-now]");
  if (!page) return;
  const ahead = Date.now() - Date.parse(page.dataset.now); // of the server's clock
  const two = (number) => String(number).padStart(2, "0");
  const clock = (seconds) => {
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}`;
  };
  setInterval(() => {
    for (const place of document.querySelectorAll(".elapsed")) {
      const since = Date.now() - ahead - Date.parse(place.dateTime);
      place.textContent = clock(Math.max(0, Math.floor(since / 1000)));
    }
  }, 1000);
});
