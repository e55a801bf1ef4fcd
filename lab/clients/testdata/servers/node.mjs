// Answers with the worker's number, 0, and new IDs, from three processes or threads.
import cluster from "node:cluster";
import http from "node:http";
import { MessageChannel, Worker, isMainThread, parentPort, threadId } from "node:worker_threads";

const { CLIENTS, ADDRESSES, SPACE, SECRET, TOKEN, PORT } = process.env;
const { Generator, Secret, Service } = await import(CLIENTS + "/typescript/dist/index.js");
const service = new Service(ADDRESSES.split(","), { space: SPACE, token: TOKEN });
const open = () => Generator.open({ service, secret: Secret.parse(SECRET) });
const answer = (who, generator) => [who, 0, ...Array.from({ length: 100 }, () => generator.generate())].join(" ");
const serve = (make) => http.createServer(async (_, response) => response.end(await make())).listen(PORT, "127.0.0.1");

if (process.argv[2] === "cluster") {
  if (cluster.isPrimary) for (let i = 0; i < 3; i++) cluster.fork();
  else {
    const generator = await open();
    serve(() => answer(process.pid, generator));
  }
} else if (isMainThread) {
  const workers = Array.from({ length: 3 }, () => new Worker(new URL(import.meta.url)));
  let turn = 0;
  serve(() => new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.once("message", (text) => (port1.close(), done(text)));
    workers[turn++ % 3].postMessage(port2, [port2]);
  }));
} else {
  const generator = await open();
  parentPort.on("message", (port) => port.postMessage(answer(threadId, generator)));
}
