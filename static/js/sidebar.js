// On wide screens the conversations at the side can be hidden; this browser remembers it. On narrow ones they open
// over the page.
{
  const root = document.documentElement;
  const wide = matchMedia("(width >= 60rem)");
  const KEY = "sidebar";

  const show = (isHidden) => root.toggleAttribute("data-sidebar-hidden", isHidden);
  const toggle = () => {
    const isHidden = !root.hasAttribute("data-sidebar-hidden");
    const place = document.activeElement;
    kept.set(KEY, isHidden && "hidden");
    show(isHidden);
    // Where the keyboard is stays, as the message field, unless it goes away.
    if (!place.checkVisibility()) document.querySelector(isHidden ? ".bar__menu" : ".sidebar__hide")?.focus();
  };
  show(kept.get(KEY) === "hidden");
  wide.addEventListener("change", () => wide.matches && document.getElementById("sidebar")?.hidePopover());

  document.addEventListener("click", (event) => {
    if (!wide.matches || !event.target.closest?.("[popovertarget=sidebar]")) return;
    event.preventDefault();
    toggle();
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "b") return;
    if (!document.getElementById("sidebar") || document.querySelector("dialog:modal")) return;
    event.preventDefault();
    if (wide.matches) toggle();
    else document.getElementById("sidebar").togglePopover();
  });
  const revealCurrent = () => document.querySelector("#sidebar .conversation-row [aria-current]")?.scrollIntoView({ block: "nearest" });
  onContent(revealCurrent);
  document.addEventListener("toggle", ({ target, newState }) => newState === "open" && target.id === "sidebar" && revealCurrent(), true);
}
