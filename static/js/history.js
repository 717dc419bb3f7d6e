// The up key in an empty composer brings back one's own messages of this conversation, the latest first; the down key
// goes back to the empty one. A message that is changed is a draft, which neither key takes away.
document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (field.id !== "composer-text" || !["ArrowUp", "ArrowDown"].includes(event.key) || event.defaultPrevented) return;
  if (isComposing(event) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const own = [...document.querySelectorAll("#transcript .message[data-role=user] .message__body")].map((each) => each.textContent);
  const at = field.value ? Number(field.dataset.recalled ?? 0) : 0; // counted from the end; 0 is the empty field
  if (field.value !== (at ? own.at(-at) : "")) return;
  const up = event.key === "ArrowUp";
  const beside = up ? field.value.slice(0, field.selectionStart) : field.value.slice(field.selectionEnd);
  if (beside.includes("\n")) return; // the key moves within the message
  const next = up ? at + 1 : at - 1;
  if (next > own.length) htmx.trigger("#earlier", "intersect");
  if (next < 0 || next > own.length) return;
  event.preventDefault();
  field.value = next ? own.at(-next) : "";
  field.dataset.recalled = next;
  field.dispatchEvent(new Event("input", { bubbles: true }));
});
