// Opens and closes dialogs in browsers that do not know commandfor.
if (!("command" in HTMLButtonElement.prototype)) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[commandfor]");
    const dialog = document.getElementById(button?.getAttribute("commandfor"));
    if (button?.getAttribute("command") === "show-modal") dialog?.showModal();
    else dialog?.close();
  });
}
// What opens is told so, and may fetch its content then: hx-trigger="shown".
document.addEventListener(
  "toggle",
  (event) => event.newState === "open" && event.target.popover && event.target.dispatchEvent(new Event("shown")),
  true,
);
// A press beside a popover closes it, and does nothing else to what lies there: where it dims the page, or with a finger.
{
  const DIMMING = ":is(#sidebar, .profile-snapshot):popover-open";
  let closes = false;
  const swallow = (event) => {
    if (!closes || !event.detail) return; // a key's click has no detail
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const press = ({ target, pointerType }) => {
    const isOpener = target.closest("[popovertarget]")?.popoverTargetElement?.matches(":popover-open");
    const isBeside = !isOpener && !target.closest(":popover-open, dialog");
    closes = isBeside && document.querySelector(pointerType === "touch" ? ":popover-open:not([popover=manual])" : DIMMING) !== null;
  };
  addEventListener("pointerdown", press, true);
  addEventListener("mousedown", swallow, true);
  addEventListener("click", swallow, true);
}
// A link to a form opens it in a dialog; where that fails, its page. So does the button that runs a turn again, where
// turns follow that would go out of view: the form says what becomes of them.
document.addEventListener("click", async (event) => {
  const close = event.target.closest?.("[data-close]");
  if (close) delete close.closest("form").dataset.changed;
  if (close?.closest("dialog")) {
    event.preventDefault();
    close.closest("dialog").close();
  }
  const link = event.target.closest?.("a[data-dialog], .turn:not(:last-child) button[data-dialog]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const { signal } = shown.gone;
  const address = link.href ?? link.formAction;
  const dialog = document.getElementById(link.dataset.dialog);
  // Escape has closed it with what was typed.
  if (dialog.querySelector("form[data-changed]")?.action === address) return dialog.showModal();
  const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
  const form = answer?.ok ? await answer.text().catch(() => "") : "";
  if (signal.aborted || dialog.open) return; // another press has opened it
  if (!form) return void (location.href = address);
  dialog.innerHTML = form;
  htmx.process(dialog);
  dialog.querySelectorAll("form[data-guarded]").forEach(bringBackTyped);
  link.closest(":popover-open")?.hidePopover(); // whose button has the focus again when the dialog closes
  dialog.showModal();
  const field = dialog.querySelector("textarea");
  field?.setSelectionRange(field.value.length, field.value.length);
});
// A file leaves the message that is edited.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-detach]");
  if (!button) return;
  const { form } = button;
  button.parentElement.remove();
  form.dataset.changed = "";
  form.elements.text.focus();
});
// An edited message is sent as one in the composer.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || isComposing(event) || !event.target.matches?.(".again textarea")) return;
  if (isTouch() && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  if (!event.repeat) event.target.form.querySelector("[type=submit]").click();
});
