// Arrow keys, Home and End move in an open menu. One that the keyboard has opened takes the focus, and one that the
// focus leaves is closed, as is one whose item opens a dialog: its button has the focus again when the dialog closes.
// Menus with a list of options have keys of their own (listbox.js).
{
  const MENU = ":is(.menu, .profile-menu:not(.options-menu)):popover-open";
  const itemsOf = (menu) => [...menu.querySelectorAll("a[href], button, input:not([type=hidden])")].filter((each) => !each.disabled && each.checkVisibility());
  const isOpener = (place, menu) => place.closest?.(`[popovertarget="${menu.id}"]`);

  let byKey = false; // what the user did last
  addEventListener("pointerdown", () => (byKey = false), true);
  addEventListener("keydown", () => (byKey = true), true);

  document.addEventListener("toggle", ({ target, newState }) => {
    if (newState !== "open" || !byKey || !target.matches(MENU) || target.contains(document.activeElement)) return;
    (target.querySelector("[aria-current]") ?? itemsOf(target)[0])?.focus();
  }, true);

  document.addEventListener("keydown", (event) => {
    const menu = document.querySelector(MENU);
    if (!menu || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || isComposing(event)) return;
    if (!menu.contains(event.target) && !isOpener(event.target, menu)) return;
    const items = itemsOf(menu);
    const at = items.indexOf(event.target);
    let next;
    if (event.key === "ArrowDown") next = items[(at + 1) % items.length];
    else if (event.key === "ArrowUp") next = items.at(at < 1 ? -1 : at - 1);
    else if (event.target.matches("input:not([type=checkbox])")) return; // where Home and End move the caret
    else if (event.key === "Home") next = items[0];
    else if (event.key === "End") next = items.at(-1);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });

  document.addEventListener("focusin", ({ target }) => {
    const menu = document.querySelector(MENU);
    if (menu && !menu.contains(target) && !isOpener(target, menu)) menu.hidePopover();
  });

  document.addEventListener("click", ({ target }) => {
    target.closest?.("[command=show-modal]")?.closest(MENU)?.hidePopover();
  });
}
