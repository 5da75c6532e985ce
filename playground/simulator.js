// Client of the simulator in a worker.

// Error response of the simulator, with its position in the text.
export class Refused extends Error {
  constructor(details) {
    super(details.message);
    this.details = details;
  }
}

// Simulator in its own worker. Requests are answered in order; `stop` aborts the current one.
export class Simulator {
  #module;
  #worker = null;
  #next = 0;
  #open = new Map();

  constructor(module) {
    this.#module = module;
  }

  get isBusy() {
    return this.#open.size > 0;
  }

  ask(request) {
    if (!this.#worker) this.#start();
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
      this.#worker.postMessage({ id, request });
    });
  }

  stop() {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { reject } of this.#open.values()) reject(new Stopped());
    this.#open.clear();
  }

  #start() {
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data: { id, reply, seconds, fault } }) => {
      const open = this.#open.get(id);
      this.#open.delete(id);
      if (fault !== undefined) {
        open?.reject(new Error(`the simulator stopped: ${fault}`));
        this.stop();
      } else if (reply.error) open?.reject(new Refused(reply.error));
      else open?.resolve({ ok: reply.ok, seconds });
    };
    this.#worker.onerror = (event) => {
      for (const { reject } of this.#open.values()) reject(new Error(`the worker failed: ${event.message ?? "loading failed"}`));
      this.#open.clear();
      this.#worker = null;
    };
    this.#worker.postMessage(this.#module);
  }
}

export class Stopped extends Error {}
