// Escape closes what is open, as the browser and other scripts have it. Where nothing is, it leads to the composer,
// and while a turn runs, pressed again within a few seconds, it stops that.
{
  const WITHIN = 4000; // milliseconds
  let clearing;
  const isOpen = () => document.querySelector("dialog:modal, [popover]:popover-open:not([popover='manual'])");
  const isElsewhere = (place, field) =>
    place !== field && place.matches?.("input, textarea:not(.approval *), select, [contenteditable]") && (place.type !== "search" || place.value);

  const hint = () => document.getElementById("stop-hint");
  const isRunning = () => document.getElementById("stop")?.checkVisibility();
  const forget = () => {
    clearTimeout(clearing);
    if (hint()?.textContent) hint().textContent = "";
  };
  const stop = () => {
    if (!isRunning()) return;
    if (hint().textContent) return document.getElementById("stop").click();
    hint().textContent = hint().dataset.text;
    clearing = setTimeout(forget, WITHIN);
  };
  // Whoever does something else does not want that.
  document.addEventListener("pointerdown", forget);
  document.addEventListener("htmx:after:swap", () => isRunning() || forget());

  document.addEventListener("keydown", (event) => {
    const field = document.getElementById("composer-text");
    if (event.key !== "Escape") forget();
    if (event.key !== "Escape" || !field || event.defaultPrevented || event.repeat || isComposing(event)) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || isOpen() || isElsewhere(event.target, field)) return;
    field.focus({ preventScroll: true });
    stop();
  });

  // The link for those who come by Tab leaves no trace in the history.
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("a[href='#composer-text']")) return;
    event.preventDefault();
    document.getElementById("composer-text")?.focus();
  });
}
