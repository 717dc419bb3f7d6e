// The composer: Enter sends, and what was typed stays until the server has accepted it.
{
  const composer = () => document.getElementById("composer");
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
    if (text.value.trim()) text.form.requestSubmit();
  });

  document.addEventListener("input", (event) => {
    if (event.target.id === "composer-text") note("");
  });

  // What the server says of a message that this tab sent.
  document.addEventListener("htmx:ws:before:message:incoming", (event) => {
    const data = event.detail.message.data;
    if (!data.startsWith("{")) return;
    const said = JSON.parse(data);
    const { text, client_id } = composer().elements;
    if (said.type === "error") note(said.message);
    if (said.client_id !== client_id.value) return;
    if (said.type === "accepted" && text.value === text.dataset.sent) text.value = "";
    if (said.type === "refused") note(said.message);
    client_id.value = uuid();
  });

  document.addEventListener("htmx:ws:before:message:outgoing", (event) => {
    const { text } = composer().elements;
    if (!event.detail.message.values.text?.trim()) event.preventDefault();
    else text.dataset.sent = text.value;
  });

  // A socket that will not come back: the form works without it.
  document.addEventListener("htmx:ws:error", (event) => {
    if (event.target.id === "composer") event.target.submit();
  });
}
