// Copies the code of the button's block, or the text of the field beside it.
addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const code = button.closest(".code-block")?.querySelector("code");
  const field = button.parentElement.querySelector("input");
  if (code) getSelection().selectAllChildren(code);
  else field.select();
  try {
    await navigator.clipboard.writeText(code ? code.textContent : field.value);
  } catch {
    document.execCommand("copy"); // where the site is not reached by https
  }
  const word = button.textContent;
  if (word === button.dataset.copied) return;
  button.textContent = button.dataset.copied;
  setTimeout(() => (button.textContent = word), 2000);
});
