// The up key in an empty composer brings back one's own messages of this conversation, the latest first; the down key
// goes back to the empty one. One that still waits to be delivered is taken back, so that it can be changed. A message
// that is changed is a draft, which neither key takes away.
{
  let recalled = { at: 0, text: "" }; // its place from the end; 0 is the empty field

  // Where more is drawn than was written, the server knows what was.
  const writtenIn = async (message) => {
    const body = message.querySelector(".message__body");
    if (!body.querySelector(".code-block, .link-host")) return body.textContent;
    return fetchMessage(message).catch(() => null);
  };

  document.addEventListener("keydown", async (event) => {
    const field = event.target;
    if (field.id !== "composer-text" || !["ArrowUp", "ArrowDown"].includes(event.key) || event.defaultPrevented) return;
    if (isComposing(event) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const { value } = field;
    if (value && value !== recalled.text) return;
    const at = value ? recalled.at : 0;
    const up = event.key === "ArrowUp";
    const beside = up ? value.slice(0, field.selectionStart) : value.slice(field.selectionEnd);
    if (beside.includes("\n")) return; // the key moves within the message
    const waiting = up && !value && [...document.querySelectorAll("#follow-ups .follow-up__back")].at(-1);
    if (waiting) {
      event.preventDefault();
      return waiting.click();
    }
    const own = [...document.querySelectorAll("#transcript .message[data-role=user]:has(.message__body)")];
    const next = up ? at + 1 : at - 1;
    if (next > own.length) htmx.trigger("#earlier", "intersect");
    if (next < 0 || next > own.length) return;
    event.preventDefault();
    const text = next ? await writtenIn(own.at(-next)) : "";
    if (text === null || field.value !== value) return;
    field.value = text;
    recalled = { at: next, text: field.value };
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}
