// Worker that runs the simulator. The first message is the compiled module. Each further message is a request with an id; the
// response contains the id, the simulator's response and the duration in seconds.

let instance;

async function instantiate(module) {
  const { exports } = await WebAssembly.instantiate(module, {});
  return exports;
}

function answer(exports, request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const address = exports.request(bytes.length);
  new Uint8Array(exports.memory.buffer, address, bytes.length).set(bytes);
  let length;
  let fault = null;
  try {
    length = exports.call();
  } catch (trap) {
    // The module's state is lost, so the page starts another worker.
    length = exports.fault();
    fault = trap;
  }
  // Growing the memory replaces `memory.buffer`.
  const text = new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.response(), length));
  if (fault) throw new Error(`${text || fault}`);
  return JSON.parse(text);
}

self.onmessage = async ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    instance = instantiate(data);
    return;
  }
  const { id, request } = data;
  try {
    const exports = await instance;
    const start = performance.now();
    const reply = answer(exports, request);
    self.postMessage({ id, reply, seconds: (performance.now() - start) / 1000 });
  } catch (why) {
    self.postMessage({ id, fault: String(why?.message ?? why) });
  }
};
