// Opens and closes dialogs in browsers that do not know commandfor.
if (!("command" in HTMLButtonElement.prototype)) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[commandfor]");
    const dialog = document.getElementById(button?.getAttribute("commandfor"));
    if (button?.getAttribute("command") === "show-modal") dialog?.showModal();
    else dialog?.close();
  });
}
