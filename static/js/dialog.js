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
