// The simulator in a worker. The first message is the compiled module; each further one is a request with a number, and is
// answered with that number, the answer and the seconds that it took.

let instance;

async function start(module) {
  const { exports } = await WebAssembly.instantiate(module, {});
  return exports;
}

function answer(exports, request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const place = exports.request(bytes.length);
  new Uint8Array(exports.memory.buffer, place, bytes.length).set(bytes);
  let length;
  let fault = null;
  try {
    length = exports.call();
  } catch (trap) {
    // Its state is lost: the page starts another worker.
    length = exports.fault();
    fault = trap;
  }
  // `memory.buffer` is another one since the module grew.
  const text = new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.response(), length));
  if (fault) throw new Error(`${text || fault}`);
  return JSON.parse(text);
}

self.onmessage = async ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    instance = start(data);
    return;
  }
  const { id, request } = data;
  try {
    const exports = await instance;
    const began = performance.now();
    const told = answer(exports, request);
    self.postMessage({ id, told, seconds: (performance.now() - began) / 1000 });
  } catch (why) {
    self.postMessage({ id, fault: String(why?.message ?? why) });
  }
};
