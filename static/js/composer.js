// The composer: Enter sends, and what was typed stays until the server has accepted it, also across a reload.
{
  const composer = () => document.getElementById("composer");
  // By its id: the welcome page has buttons of the same name, each with a whole message.
  const field = () => document.getElementById("composer-text");
  const note = (text) => {
    const place = document.getElementById("composer-note");
    place.textContent = text;
    place.hidden = !text;
  };

  // crypto.randomUUID exists only on https and localhost, and the site may be served to a home network.
  const uuid = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };

  document.addEventListener("keydown", (event) => {
    const text = event.target;
    if (text.id !== "composer-text" || event.key !== "Enter" || event.shiftKey) return;
    // An Enter that confirms an input method's candidate does not send; 229 is how Safari says so.
    if (event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (text.value.trim() || text.form.elements.files?.files.length) text.form.requestSubmit();
  });

  // What is typed; and where it is on its way, the id by which the server knows a repetition.
  const place = `draft ${location.pathname}`;
  const keep = () => {
    const { client_id } = composer().elements;
    const text = field();
    const draft = { text: text.value, sent: text.value === text.dataset.sent, client_id: client_id.value };
    try {
      if (text.value) localStorage.setItem(place, JSON.stringify(draft));
      else localStorage.removeItem(place);
    } catch {} // a browser that keeps nothing sends all the same
  };
  const kept = (where) => {
    try {
      return JSON.parse(localStorage.getItem(where)) ?? {};
    } catch {
      return {};
    }
  };

  // Whatever is sent next is another message.
  const renew = () => {
    const { client_id } = composer().elements;
    const text = field();
    delete text.dataset.sent;
    client_id.value = uuid();
  };

  const send = () => {
    const text = field();
    if (text.value.trim()) text.dataset.sent = text.value;
    keep();
  };

  addEventListener("DOMContentLoaded", () => {
    if (!composer()) return;
    const { client_id } = composer().elements;
    const text = field();
    const draft = kept(place);
    if (!text.value && draft.text) {
      text.value = draft.text;
      if (draft.sent) {
        text.dataset.sent = draft.text;
        client_id.value = draft.client_id;
      }
    }
    keep();
    // This page is what a conversation's first message led to.
    if (composer().hasAttribute("hx-ws:send") && kept("draft /").sent) localStorage.removeItem("draft /");
  });

  document.addEventListener("input", (event) => {
    const text = event.target;
    if (text.id !== "composer-text") return;
    note("");
    if (text.dataset.sent !== undefined && text.value !== text.dataset.sent) renew();
    keep();
  });

  document.addEventListener("submit", (event) => {
    if (event.target.id === "composer" && event.submitter?.name !== "text") send();
  });

  // What the server says of a message that this tab sent.
  document.addEventListener("htmx:ws:before:message:incoming", (event) => {
    const data = event.detail.message.data;
    if (!data.startsWith("{")) return;
    const said = JSON.parse(data);
    const { client_id } = composer().elements;
    const text = field();
    if (said.type === "error") note(said.message);
    else if (said.client_id !== client_id.value) return;
    if (said.type === "accepted" && text.value === text.dataset.sent) text.value = "";
    if (said.type === "refused") note(said.message);
    renew();
    keep();
  });

  document.addEventListener("htmx:ws:before:message:outgoing", (event) => {
    if (!event.detail.message.values.text?.trim()) event.preventDefault();
  });

  // Nobody knows whether what was on its way as the last connection ended was accepted; twice is harmless.
  document.addEventListener("htmx:ws:after:connection", () => {
    const text = field();
    if (text.value && text.value === text.dataset.sent) composer().requestSubmit();
  });

  // A socket that will not come back: the form works without it.
  document.addEventListener("htmx:ws:error", (event) => {
    if (event.target.id === "composer") event.target.submit();
  });
}
