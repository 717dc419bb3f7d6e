// Clocks that go on: what the server said of them is counted on from, by the server's time.
addEventListener("DOMContentLoaded", () => {
  const board = document.getElementById("board");
  if (!board) return;
  const ahead = Date.now() - Date.parse(board.dataset.now); // of the server's clock
  const two = (number) => String(number).padStart(2, "0");
  const clock = (seconds) => {
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}`;
  };
  setInterval(() => {
    for (const place of board.querySelectorAll(".elapsed")) {
      const since = Date.now() - ahead - Date.parse(place.dateTime);
      place.textContent = clock(Math.max(0, Math.floor(since / 1000)));
    }
  }, 1000);
});
