// Keeps what the user has selected or unfolded in a message while its text is drawn anew. Places of a selection are
// counted in characters that are not blank, since a paragraph that is finished may differ in its line breaks.
{
  const folds = new Map(); // whether a section is open, by its message's id and its number there
  let kept = null; // the selection: the message's id, its first and last character, its text, and whether it runs backwards

  const solid = (text) => text.replace(/\s+/g, "");
  const bodyOf = (id) => document.querySelector(`#${CSS.escape(id)} > .message__body`);
  const messageOf = (node) => (node.closest ? node : node.parentElement)?.closest(".message[id]");
  const selected = () => (document.getSelection().rangeCount ? solid(document.getSelection().getRangeAt(0).toString()) : "");

  document.addEventListener("selectionchange", () => {
    const selection = document.getSelection();
    kept = null;
    if (selection.isCollapsed) return;
    const range = selection.getRangeAt(0);
    const message = messageOf(range.startContainer);
    const body = message && bodyOf(message.id);
    if (!body?.contains(range.startContainer) || !body.contains(range.endContainer)) return;
    const before = document.createRange();
    before.setStart(body, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const first = solid(before.toString()).length;
    const text = selected();
    const backwards = selection.focusNode === range.startContainer && selection.focusOffset === range.startOffset;
    kept = { id: message.id, first, last: first + text.length - 1, text, backwards };
  });

  // The text node and the index in it of a character.
  const characterAt = (body, number) => {
    const nodes = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) {
      const { data } = nodes.currentNode;
      const length = solid(data).length;
      if (number < length) return [nodes.currentNode, [...data.matchAll(/\S/g)][number].index];
      number -= length;
    }
    return null;
  };

  const restore = () => {
    const body = kept && bodyOf(kept.id);
    if (!body || selected() === kept.text) return;
    const first = characterAt(body, kept.first);
    const last = characterAt(body, kept.last);
    if (!first || !last) return;
    const ends = [first, [last[0], last[1] + 1]];
    const [from, to] = kept.backwards ? ends.reverse() : ends;
    document.getSelection().setBaseAndExtent(...from, ...to);
  };

  const sectionsIn = (id) => [...(bodyOf(id)?.querySelectorAll("details") ?? [])];

  document.addEventListener("toggle", ({ target }) => {
    const id = messageOf(target)?.id;
    const number = id ? sectionsIn(id).indexOf(target) : -1;
    if (number >= 0) folds.set(`${id} ${number}`, target.open);
  }, true);

  const fold = () => {
    for (const [key, open] of folds) {
      const [id, number] = key.split(" ");
      const section = sectionsIn(id)[number];
      if (section && section.open !== open) section.open = open;
    }
  };

  onContent(() => {
    folds.clear();
    const transcript = document.getElementById("transcript");
    const redrawn = () => {
      fold();
      restore();
    };
    if (transcript) new MutationObserver(redrawn).observe(transcript, { subtree: true, childList: true, characterData: true });
  });
}
