// A person's own fold of the todo panel is kept for its turn and phase, also over a reload.
{
  const key = (panel) => `todo-panel ${panel.dataset.turn} ${panel.dataset.phase}`;
  const panelIn = (root) => root.querySelector?.("#todo-panel");

  // `toggle` does not tell who folded; a click on the line or a key on it is always the person.
  document.addEventListener("click", (event) => {
    const panel = event.target.closest?.("#todo-panel > summary")?.parentElement;
    if (panel) sessionStorage.setItem(key(panel), panel.open ? "folded" : "unfolded");
  });

  const restore = (panel) => {
    const kept = panel && sessionStorage.getItem(key(panel));
    if (kept) panel.open = kept === "unfolded";
  };
  addEventListener("DOMContentLoaded", () => {
    const slot = document.getElementById("todo-slot");
    if (!slot) return;
    restore(panelIn(slot));
    new MutationObserver(() => restore(panelIn(slot))).observe(slot, { childList: true });
  });
}
