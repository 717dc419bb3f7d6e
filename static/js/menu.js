// Arrow keys, Home and End move in an open menu, and letters lead to the item that begins with them. One that the
// keyboard has opened takes the focus, and one that the focus leaves is closed, as is one whose item opens a dialog: its
// button has the focus again when the dialog closes. Menus with a list of options have keys of their own (listbox.js).
{
  const MENU = ":is(.menu, .profile-menu:not(.options-menu)):popover-open";
  const itemsOf = (menu) => [...menu.querySelectorAll("a[href], button, input:not([type=hidden])")].filter((each) => !each.disabled && each.checkVisibility());
  const isOpener = (place, menu) => place.closest?.(`[popovertarget="${menu.id}"]`);

  const nameOf = (item) => (item.labels?.[0] ?? item.querySelector(".profile-menu__title") ?? item).textContent.trim().toLowerCase();
  const PAUSE = 1000; // milliseconds after which letters begin anew
  let typed = { letters: "", at: -Infinity };
  const typeAhead = (items, at, { key, timeStamp }) => {
    const earlier = timeStamp - typed.at < PAUSE ? typed.letters : "";
    const letters = earlier + key.toLowerCase();
    typed = { letters, at: timeStamp };
    const begun = earlier ? at : at + 1; // one more letter may still mean the same item
    return [...items.slice(begun), ...items.slice(0, begun)].find((each) => nameOf(each).startsWith(letters));
  };

  // The menu of many rows goes from one to another whose button is pressed; the browser would only close it.
  let opener = null;
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[popovertarget]");
    const menu = button && document.getElementById(button.getAttribute("popovertarget"));
    const isAnother = menu?.matches(".menu:popover-open") && opener !== button;
    opener = button ?? opener;
    if (!isAnother) return;
    event.preventDefault();
    menu.hidePopover();
    button.click();
  }, true);

  // A menu is hidden with its button; as a phone is turned, the button may be out of view.
  addEventListener("resize", () => {
    const id = document.querySelector(MENU)?.id;
    if (id && opener?.getAttribute("popovertarget") === id) opener.scrollIntoView({ block: "nearest" });
  });

  document.addEventListener("toggle", ({ target, newState }) => {
    typed = { letters: "", at: -Infinity };
    if (newState !== "open") delete target.dataset.writes;
    if (newState !== "open" || !byKey || !target.matches(MENU) || target.contains(document.activeElement)) return;
    (target.querySelector("[aria-current]") ?? itemsOf(target)[0])?.focus();
  }, true);

  document.addEventListener("keydown", (event) => {
    const menu = document.querySelector(MENU);
    const isLetter = event.key.length === 1 && (event.key !== " " || event.timeStamp - typed.at < PAUSE);
    if (!menu || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isComposing(event)) return;
    if (event.shiftKey && !isLetter) return;
    if (!menu.contains(event.target) && !isOpener(event.target, menu)) return;
    const items = itemsOf(menu);
    const at = items.indexOf(event.target);
    let next;
    if (event.key === "ArrowDown") next = items[(at + 1) % items.length];
    else if (event.key === "ArrowUp") next = items.at(at < 1 ? -1 : at - 1);
    else if (event.target.matches("input:not([type=checkbox])")) return; // where Home and End move the caret
    else if (event.key === "Home") next = items[0];
    else if (event.key === "End") next = items.at(-1);
    else if (isLetter) next = typeAhead(items, at, event);
    if (next || isLetter) event.preventDefault(); // a space in a name presses nothing
    next?.focus();
  });

  document.addEventListener("focusin", ({ target }) => {
    const menu = document.querySelector(MENU);
    if (menu && !menu.contains(target) && !isOpener(target, menu)) menu.hidePopover();
    // Where there is little room it moves for that (menu.css), once: what is pressed next stays where it is.
    if (menu?.contains(target) && target.matches("input:not([type=checkbox])")) menu.dataset.writes = "";
    const options = document.querySelector(".options-menu:popover-open");
    if (options && !options.contains(target) && !isOpener(target, options)) options.hidePopover();
  });

  document.addEventListener("click", ({ target }) => {
    target.closest?.("[command=show-modal]")?.closest(MENU)?.hidePopover();
  });
}
