import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import { RandflakeError, isCode, refuse, whole, type Code } from "./errors.js";
import { EPOCH, MAX_NODE, MAX_SECOND } from "./id.js";

export interface ServiceOptions {
  space: string;
  /** A bearer token, or what returns the present one. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** What TLS needs beyond the defaults, in PEM: authorities, and the certificate and key of this client. */
  tls?: { ca?: string | Uint8Array; cert?: string | Uint8Array; key?: string | Uint8Array } | undefined;
  /** How many milliseconds a call may take, at all replicas together: 10,000 by default. */
  timeout?: number | undefined;
}

/** What a Generator asks for. After an unknown outcome it asks again for the same owner, which is a fresh token. */
export interface LeaseRequest { nodes: number; ttl: number; owner: string; check: string; retry: boolean }
/** Nodes for Unix seconds, first and last included, that no other lease has. */
export interface Lease { firstNode: number; lastNode: number; start: number; highWater: number }

type Json = Record<string, unknown>;

/** randflaked, at the addresses of one or more replicas. */
export class Service {
  readonly #replicas: { url: URL; agent: http.Agent }[];
  readonly #options: ServiceOptions;
  #last = 0; // the replica that answered last

  constructor(addresses: string | readonly string[], options: ServiceOptions) {
    this.#options = { ...options };
    whole("timeout", options.timeout ?? 1, 1, 2 ** 31 - 1);
    this.#replicas = [addresses].flat().map((address) => {
      const url = URL.canParse(address) ? new URL(address) : undefined;
      const good = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
      if (!good) return refuse("address: want a URL of http or https, with host, port and path, and without a password");
      url.pathname = url.pathname.replace(/\/*$/, "/");
      const keep = { keepAlive: true, timeout: 4000 }; // less than servers do, so that no call meets a closing connection
      const agent = url.protocol === "https:" ? new https.Agent({ ...(options.tls as object), ...keep }) : new http.Agent(keep);
      return { url, agent };
    });
    if (this.#replicas.length === 0) refuse("addresses: want at least one");
  }

  /** Takes a lease, as a Generator does by itself. */
  acquire({ ttl, ...more }: LeaseRequest): Promise<Lease> {
    return this.#call("LeaseService/Acquire", { space: this.#options.space, ttlSeconds: ttl, ...more }, ({ lease }) => {
      const fields = Object(lease) as Json, number = (name: string) => Number(fields[name] ?? 0); // JSON leaves zeros out
      const firstNode = number("firstNode"), lastNode = number("lastNode"), start = number("start"), highWater = number("highWater");
      const good = fields["owner"] === more.owner && [firstNode, start, highWater].every(Number.isSafeInteger) &&
        0 <= firstNode && lastNode === firstNode + more.nodes - 1 && lastNode <= MAX_NODE &&
        EPOCH <= start && start <= highWater && highWater <= MAX_SECOND;
      return good && { firstNode, lastNode, start, highWater };
    });
  }

  /** Has the service make up to 65,536 IDs, as text. Those of a lost answer are lost. */
  async mint(count = 1): Promise<string[]> {
    whole("count", count, 1, 65_536);
    return this.#call("IDService/Mint", { space: this.#options.space, count }, ({ ids }) => list(ids, count, /^\w+$/));
  }

  /** Takes up to 65,536 numbers of a counter, in order. Those of a lost answer are lost. */
  async next(counter: string, count = 1): Promise<bigint[]> {
    whole("count", count, 1, 65_536);
    const read = ({ numbers }: Json) => list(numbers, count, /^-?\d+$/);
    return (await this.#call("CounterService/Next", { counter, count }, read)).map(BigInt);
  }

  /** Asks one replica after the other, and waits for each for its share of the time that is left. */
  async #call<T>(procedure: string, request: Json, read: (answer: Json) => T | false): Promise<T> {
    const end = performance.now() + (this.#options.timeout ?? 10_000), n = this.#replicas.length;
    for (let left = n, at = this.#last; ; left--, at = (at + 1) % n) {
      try {
        const answer = await this.#ask(at, procedure, request, read, (end - performance.now()) / left);
        this.#last = at;
        return answer;
      } catch (error) {
        if (left === 1 || (error as RandflakeError).final) throw error;
        if ("retry" in request) request["retry"] = true;
      }
    }
  }

  async #ask<T>(at: number, procedure: string, request: Json, read: (answer: Json) => T | false, limit: number): Promise<T> {
    const { url, agent } = this.#replicas[at]!, over = new AbortController(), { signal } = over;
    const timer = setTimeout(() => over.abort(), limit);
    let where = `${procedure} at ${url.host}`, token: unknown, text = "";
    const failed = (code: Code, why: unknown) => {
      const safe = String(why).slice(0, 500).replace(/[0-9a-f]{32}/gi, "[token]");
      return new RandflakeError(code, `${where}: ${token ? safe.replaceAll(token as string, "[token]") : safe}`);
    };
    try {
      const { token: given = "" } = this.#options;
      token = await Promise.race([typeof given === "function" ? given() : given, once(signal, "abort")]);
      signal.throwIfAborted();
      if (typeof token !== "string" || /[^!-~]/.test(token)) refuse("token: want visible ASCII");
      const headers: Record<string, string> = { "Content-Type": "application/json", "Connect-Protocol-Version": "1" };
      if (token) headers["Authorization"] = `Bearer ${token}`;
      const options = { method: "POST", agent, headers, signal }, { request: send } = url.protocol === "https:" ? https : http;
      const sent = send(new URL(`randflake.v1.${procedure}`, url), options);
      const [response] = await once(sent.end(JSON.stringify(request)), "response") as [http.IncomingMessage];
      sent.on("error", () => {}); // the response has it too
      where += `: HTTP status ${response.statusCode}`;
      for await (const part of response.setEncoding("latin1")) { // a character for each byte
        if ((text += part).length > 4 << 20) throw failed("unavailable", "an answer of more than 4 MiB");
      }
      const answer = Object(JSON.parse(Buffer.from(text, "latin1").toString())) as Json, { code, message } = answer;
      if (response.statusCode !== 200) throw failed(isCode(code) ? code : "unavailable", message);
      const result = read(answer);
      if (result) return result;
      throw failed("unavailable", "the answer does not fit the call");
    } catch (error) {
      if (error instanceof RandflakeError) throw error;
      const { message, code } = error as NodeJS.ErrnoException; // that of several addresses has no message
      throw failed("unavailable", signal.aborted ? "no answer in time" : message || code);
    } finally {
      clearTimeout(timer);
    }
  }
}

function list(value: unknown, count: number, form: RegExp): string[] | false {
  return Array.isArray(value) && value.length === count && value.every((text) => form.test(text)) && value;
}
