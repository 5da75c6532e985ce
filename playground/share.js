// Scenarios in the fragment of an address, compressed if that is shorter. Browsers do not send fragments to servers.

const MAX_BYTES = 256 * 1024;

const toBase64 = (bytes) => {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

const fromBase64 = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));

async function collected(stream, limit) {
  const parts = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > limit) {
      await reader.cancel();
      throw new Error(`the scenario of this link is too large; allowed: at most ${limit} bytes`);
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

// Returns the fragment, without `#`, for a text and the names of its selected transports.
export async function encode(text, transports) {
  const plain = new TextEncoder().encode(text);
  const packed = await collected(new Blob([plain]).stream().pipeThrough(new CompressionStream("deflate-raw")), MAX_BYTES);
  const encoded = packed.length < plain.length ? `z${toBase64(packed)}` : `p${toBase64(plain)}`;
  return `scenario=${encoded}&transports=${transports.map(encodeURIComponent).join(",")}`;
}

// Decodes a fragment to `{text, transports}` or `{story, panel, scheme}`, or null if it is empty. Throws if it is damaged.
export async function decode(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  if (fields.has("story")) return { story: fields.get("story"), panel: fields.get("panel"), scheme: fields.get("scheme") };
  const encoded = fields.get("scenario");
  if (encoded === null) return null;
  const transports = (fields.get("transports") ?? "").split(",").filter(Boolean);
  try {
    const bytes = fromBase64(encoded.slice(1));
    const plain = encoded[0] === "z" ? await collected(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")), MAX_BYTES) : bytes;
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(plain), transports };
  } catch (why) {
    const message = String(why?.message ?? why);
    throw new Error(message.includes("allowed") ? message : "the scenario of this link is damaged: copy the complete link again");
  }
}
