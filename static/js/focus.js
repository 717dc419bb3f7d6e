// Keeps the keyboard at the composer: after a load, a click on Send, the end of a turn, and when a redraw takes
// the focused control away. A printable key that nothing else would take goes there as well, and what is pasted. The
// focus is not moved by itself where a finger is the pointer, for it would bring up the keyboard on the screen.

// What is typed while another page with a composer is on its way is for that page.
let typedAhead = "";
const typeAhead = () => {
  const field = document.getElementById("composer-text");
  if (typedAhead && field) {
    field.focus({ preventScroll: true });
    document.execCommand("insertText", false, typedAhead);
  }
  typedAhead = "";
};

// A keyboard on the screen leaves the field in view as it comes up.
addEventListener("resize", () => {
  const field = document.activeElement;
  if (isTouch() && field.matches("input, textarea:not(#composer-text)")) field.scrollIntoView({ block: "nearest" });
});

{
  const field = () => document.getElementById("composer-text");
  const isMenuOpen = () => document.querySelector("dialog:modal, [popover]:popover-open:not([popover='manual'])") !== null;
  const isNowhere = (place) => place === document.body || place.matches("#content, h1"); // where a click on empty space leads, or a link
  const isThere = (place) => place.isConnected && place.checkVisibility();
  const isSelecting = () => !document.getSelection().isCollapsed;
  const isTypedInto = (place) => place.closest?.("input:not([type=file]), textarea, select, [contenteditable]");

  const take = () => {
    if (!isTouch() && !isMenuOpen()) field().focus({ preventScroll: true });
  };

  const WITH_COMPOSER = /^\/(conversations\/[0-9a-f-]{36}\/)?$/;
  addEventListener("keydown", (event) => {
    const { key, target } = event;
    const isText = [...key].length === 1;
    if (!WITH_COMPOSER.test(shown.next) || event.ctrlKey || event.metaKey || event.altKey || isComposing(event) || isMenuOpen()) return;
    if (target !== field() && isTypedInto(target)) return;
    if (!typedAhead && (!isText || (target !== field() && " /?".includes(key)))) return; // which mean something else there
    if (isText) typedAhead += key;
    else if (key === "Backspace") typedAhead = typedAhead.slice(0, -1);
    else if (key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  // A link to a place on the page keeps the focus there.
  const arrive = () => {
    if (!field() || document.getElementById(location.hash.slice(1))) return;
    if (!field().selectionEnd) field().setSelectionRange(field().value.length, field().value.length);
    if (isNowhere(document.activeElement)) take();
  };

  document.addEventListener("keydown", (event) => {
    if (!field() || event.defaultPrevented || isComposing(event)) return;
    const pastes = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "v";
    if (!pastes && ([...event.key].length !== 1 || event.ctrlKey || event.metaKey || event.altKey)) return;
    if (isTypedInto(event.target) || isMenuOpen()) return;
    if (event.key === " " && !isNowhere(event.target)) return; // scrolls the transcript, or presses a button
    if (event.key === "/" && !field().value) return; // opens the search
    field().focus(); // the browser then types the key there, or pastes
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#send")) take();
  });

  // A space is for the message, too, once files were chosen with the pointer, and does not ask for more of them.
  document.addEventListener("change", ({ target }) => {
    if (field() && target.matches("[type=file]") && !target.closest("dialog") && !byKey) target.blur();
  });

  // What is being written stays in view where its room gets smaller, as above a keyboard that comes up.
  const rooms = new ResizeObserver((changes) => {
    const place = document.activeElement;
    if (place.matches("input, textarea") && changes.some(({ target }) => target.contains(place))) place.scrollIntoView({ block: "nearest" });
  });

  onContent((signal) => {
    arrive();
    typeAhead();
    const conversation = document.getElementById("conversation");
    if (!conversation || !field()) return;
    rooms.disconnect();
    for (const room of conversation.parentElement.querySelectorAll("#scroll, .dock__above")) rooms.observe(room);
    let latest = document.activeElement; // the element that had the focus last; a question on this page may have it
    let status = conversation.dataset.status;
    let looking = 0;

    const look = () => {
      looking = 0;
      if (signal.aborted) return;
      const now = document.getElementById("conversation").dataset.status;
      const ended = now === "idle" && status !== "idle";
      status = now;
      const place = document.activeElement;
      if (place === field() || isSelecting()) return;
      const lost = isNowhere(place) ? ended || !isThere(latest) : !isThere(place);
      if (lost) take();
    };
    document.addEventListener("focusin", (event) => (latest = event.target), { signal });
    // Behind all other scripts that put the focus back where it was.
    const later = () => (looking ||= setTimeout(look));
    new MutationObserver(later).observe(conversation.parentElement, { subtree: true, childList: true, attributeFilter: ["data-status"] });
  });
  addEventListener("pageshow", (event) => event.persisted && arrive());
}

// A link that looks like a button is pressed with the space bar, as those beside it are.
document.addEventListener("keydown", (event) => {
  if (event.key !== " " || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (!event.target.matches?.("a:is(.button, .action)")) return;
  event.preventDefault(); // of scrolling
  if (!event.repeat) event.target.click();
});

// Where there is no composer, a redraw that takes the focused control away moves the focus to the row that takes its
// place, or to the heading of an empty section.
{
  let left = null; // the control that has the focus, its section's id, and the number of its row

  document.addEventListener("focusin", ({ target }) => {
    const section = target.closest("section[id]");
    const rows = [...(section?.querySelectorAll("li") ?? [])];
    left = section && { target, id: section.id, row: rows.indexOf(target.closest("li")) };
  });
  document.addEventListener("htmx:after:swap", () => {
    if (!left || left.target.isConnected || document.activeElement !== document.body) return;
    const section = document.getElementById(left.id);
    if (!section || document.getElementById("composer-text")) return;
    const rows = section.querySelectorAll("li");
    const place = rows[Math.min(Math.max(left.row, 0), rows.length - 1)]?.querySelector("a, button") ?? section.querySelector("h2");
    place?.focus({ preventScroll: true });
  });
}
