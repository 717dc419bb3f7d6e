// Ctrl+K or Cmd+K goes to the search box, and so does "/" unless a message is begun. An Enter that confirms an input method's candidate
// searches for nothing.
{
  const box = () => document.querySelector(".search [name='q'], .search-box [name='q']");
  const isTyping = (place) =>
    place.closest?.("input, textarea, select, [contenteditable]") || document.getElementById("composer-text")?.value;
  const go = () => {
    const sidebar = box().closest("#sidebar");
    if (sidebar && !box().checkVisibility()) sidebar.showPopover();
    box().focus();
    box().select();
  };

  document.addEventListener("keydown", (event) => {
    if (isComposing(event)) {
      if (event.key === "Enter" && event.target === box()) event.preventDefault();
      return;
    }
    const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
    const letter = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if ((!slash && !letter) || event.repeat || !box() || document.querySelector("dialog[open], [popover]:popover-open:not(#sidebar, [popover='manual'])")) return;
    event.preventDefault();
    go();
  });
}
