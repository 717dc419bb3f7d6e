// Copies a message as it was written, and formatted for where that can be pasted; the code of the button's block, a call's
// output, a file, or the text of the field beside it.
{
  const fieldOf = (button) => button.parentElement.querySelector("input");
  const codeOf = (button) => button.closest(".code-block")?.querySelector("code");
  const outputOf = (button) => button.closest(".tool-call__part")?.nextElementSibling;
  const fileOf = (button) => button.closest(".files__row")?.querySelector("[download]");
  const messageOf = (button) => {
    const all = button.closest(".turn__end")?.parentElement.querySelectorAll(".message[data-role=assistant]:not([hidden]):has(> .message__body)");
    return button.closest(".message") ?? [...(all ?? [])].at(-1);
  };
  const textOf = async (output) => {
    const address = output.getAttribute("hx-get"); // of the whole, where this is folded
    return address ? (await fetched(address)).text() : output.textContent;
  };
  const formatted = (message) => {
    const body = message.querySelector(".message__body")?.cloneNode(true);
    if (message.dataset.role !== "assistant" || !body) return null;
    for (const each of body.querySelectorAll(".code-block__bar, button, .link-host")) each.remove();
    // Elsewhere there are no files of the workspace.
    for (const image of body.querySelectorAll("img")) image.replaceWith(image.alt);
    for (const link of body.querySelectorAll("a[href]")) if (link.origin === location.origin) link.replaceWith(...link.childNodes);
    return new Blob([body.innerHTML], { type: "text/html" });
  };
  const fetchFile = async (file, encoding = "UTF-8") => {
    const data = await (await fetched(file.href)).arrayBuffer();
    const isBigEndian = encoding === "UTF-16" && new DataView(data).getUint16(0) === 0xfeff;
    return new TextDecoder(isBigEndian ? "UTF-16BE" : encoding).decode(data);
  };

  // Its text, or a promise of it, and where there is one its HTML.
  const contentOf = (button) => {
    const code = codeOf(button);
    const output = outputOf(button);
    const file = fileOf(button);
    const message = messageOf(button);
    const field = fieldOf(button);
    if (code) return [code.textContent];
    if (output) return [textOf(output)];
    if (file) return [fetchFile(file, button.dataset.encoding)];
    if (message) return [fetchMessage(message), formatted(message)];
    field.select();
    return [field.value];
  };

  // A site that is not reached by https has no clipboard, only the command that copies what is selected.
  const copySelected = (text) => {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "visually-hidden";
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  };
  const put = async (text, html) => {
    // Safari only accepts what was begun within the click, so a text on its way is given as a promise.
    const blob = Promise.resolve(text).then((known) => new Blob([known], { type: "text/plain" }));
    try {
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob, ...(html && { "text/html": html }) })]);
    } catch {
      const { activeElement } = document;
      copySelected(await text);
      activeElement?.focus();
    }
  };

  const show = (button) => {
    const { copied } = button.dataset;
    if (button.classList.contains("action")) {
      const name = button.ariaLabel;
      if (name === copied) return;
      const say = (label, icon) => {
        button.ariaLabel = label;
        button.querySelector("use").setAttribute("href", icon);
      };
      say(copied, "#icon-copied");
      setTimeout(() => say(name, "#icon-copy"), 2000);
      return;
    }
    const word = button.textContent;
    if (word === copied) return;
    button.textContent = copied;
    setTimeout(() => (button.textContent = word), 2000);
  };

  onContent(() => {
    for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    try {
      await put(...contentOf(button));
      show(button);
    } catch {}
  });
}

// A browser breaks a selected formula into a line per symbol; it is copied as it was written.
document.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (!selection.rangeCount || event.target.matches?.("input, textarea")) return;
  const part = selection.getRangeAt(0).cloneContents();
  const formulas = part.querySelectorAll("math");
  if (!formulas.length) return;
  for (const bar of part.querySelectorAll(".code-block__bar, button")) bar.remove();
  const place = document.createElement("div");
  place.className = "visually-hidden";
  place.append(part);
  event.clipboardData.setData("text/html", place.innerHTML);
  for (const formula of formulas) formula.replaceWith(formula.getAttribute("alttext") ?? formula.textContent);
  document.body.append(place);
  event.clipboardData.setData("text/plain", place.innerText);
  place.remove();
  event.preventDefault();
});

// Wraps the lines of code, and unfolds code that is long.
{
  const toggle = (button) => {
    button.ariaExpanded = button.ariaExpanded !== "true";
    [button.textContent, button.dataset.other] = [button.dataset.other, button.textContent];
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".code-block__wrap, .code-block__more");
    if (!button) return;
    if (button.matches(".code-block__wrap")) {
      button.ariaPressed = button.ariaPressed !== "true";
      return;
    }
    const top = button.closest(".code-block").getBoundingClientRect().top;
    toggle(button);
    if (button.ariaExpanded === "true") return;
    byUser.add(button);
    if (top < 0) button.closest(".code-block").scrollIntoView({ block: "nearest" });
  });

  // What was written before the reader's eyes stays unfolded.
  const byUser = new WeakSet();
  let written = ""; // the id of the turn
  document.addEventListener("htmx:ws:after:message:incoming", () => {
    const turn = document.querySelector("#transcript > .turn:last-of-type");
    if (["running", "waiting"].includes(turn?.dataset.status)) written = turn.id;
    if (!written || turn?.id !== written) return;
    for (const button of turn.querySelectorAll(".code-block__more[aria-expanded=false]")) if (!byUser.has(button)) toggle(button);
  });
}
