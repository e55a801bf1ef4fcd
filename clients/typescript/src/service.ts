import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import { RandflakeError, isCode, refuse, whole, type Code } from "./errors.js";

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
export interface Lease { firstNode: number; lastNode: number; start: number; highWater: number; owner: string }

type Json = Record<string, unknown>;

/** randflaked, at the addresses of one or more replicas. */
export class Service {
  readonly #replicas: { url: URL; agent: http.Agent }[];
  readonly #options: ServiceOptions;
  #last = 0; // the replica that answered last

  constructor(addresses: string | readonly string[], options: ServiceOptions) {
    this.#options = { ...options };
    this.#replicas = [addresses].flat().map((address) => {
      const url = URL.canParse(address) ? new URL(address) : undefined;
      const good = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
      if (!good) return refuse("address: want a URL of http or https, with host, port and path, and without a password");
      const keep = { keepAlive: true, timeout: 4000 }; // less than servers do, so that no call meets a closing connection
      return { url, agent: url.protocol === "https:" ? new https.Agent({ ...options.tls as object, ...keep }) : new http.Agent(keep) };
    });
    if (this.#replicas.length === 0) refuse("addresses: want at least one");
  }

  /** Takes a lease within so many milliseconds, as a Generator does by itself. */
  async acquire({ ttl, ...more }: LeaseRequest, limit?: number): Promise<Lease> {
    const { lease } = await this.#call("LeaseService/Acquire", { space: this.#options.space, ttlSeconds: ttl, ...more }, limit);
    const { owner, firstNode = 0, lastNode = 0, start, highWater } = Object(lease) as Json; // JSON leaves zeros out
    return { owner: `${owner}`, firstNode: +firstNode!, lastNode: +lastNode!, start: Number(start), highWater: Number(highWater) };
  }

  /** Has the service make up to 65,536 IDs, as text. Those of a lost answer are lost. */
  mint(count = 1): Promise<string[]> {
    return this.#list("IDService/Mint", { space: this.#options.space, count }, "ids", /^\w+$/);
  }

  /** Takes up to 65,536 numbers of a counter, in order. Those of a lost answer are lost. */
  async next(counter: string, count = 1): Promise<bigint[]> {
    return (await this.#list("CounterService/Next", { counter, count }, "numbers", /^-?\d+$/)).map(BigInt);
  }

  async #list(procedure: string, request: Json & { count: number }, field: string, form: RegExp): Promise<string[]> {
    whole("count", request.count, 1, 65_536);
    const list = (await this.#call(procedure, request))[field];
    const good = Array.isArray(list) && list.length === request.count && list.every((text) => form.test(text));
    if (!good) throw new RandflakeError("unavailable", `${procedure}: malformed answer: want a list of ${request.count}`);
    return list;
  }

  /** Asks one replica after the other, and waits for each for its share of the time that is left. */
  async #call(procedure: string, request: Json, limit = Infinity): Promise<Json> {
    const end = performance.now() + Math.min(limit, this.#options.timeout ?? 10_000), n = this.#replicas.length;
    let unknown: unknown;
    for (let left = n, at = this.#last; left > 0; left--, at = (at + 1) % n) {
      try {
        const answer = await this.#ask(this.#replicas[at]!, procedure, request, (end - performance.now()) / left);
        this.#last = at;
        return answer;
      } catch (error) {
        if ((error as RandflakeError).final) throw unknown ? Object.assign(error as object, { final: false }) : error;
        unknown = error;
        if ("retry" in request) request["retry"] = true;
      }
    }
    throw unknown;
  }

  async #ask({ url, agent }: { url: URL; agent: http.Agent }, procedure: string, request: Json, limit: number): Promise<Json> {
    const over = new AbortController(), { signal } = over, timer = setTimeout(() => over.abort(), limit);
    let where = `${procedure} at ${url.host}`, token: unknown, text = "";
    const failed = (code: Code, why: unknown) => {
      const safe = `${why}`.slice(0, 500).replaceAll((token as string) || /$^/g, "[token]").replace(/[0-9a-f]{32}/gi, "[token]");
      return new RandflakeError(code, `${where}: ${safe}`);
    };
    try {
      const given = this.#options.token ?? "";
      token = await Promise.race([typeof given === "function" ? given() : given, once(signal, "abort")]);
      if (typeof token !== "string" || !/^[!-~]*$/.test(token)) throw failed("invalid_argument", "token: want visible ASCII");
      const headers = { "Content-Type": "application/json", "Connect-Protocol-Version": "1", ...(token && { Authorization: `Bearer ${token}` }) };
      const path = new URL(`${url.pathname.replace(/\/$/, "")}/randflake.v1.${procedure}`, url);
      const sent = (url.protocol === "https:" ? https : http).request(path, { method: "POST", agent, headers, signal });
      const [response] = await once(sent.end(JSON.stringify(request)), "response") as [http.IncomingMessage];
      sent.on("error", () => {}); // the response has it too
      where += `: HTTP status ${response.statusCode}`;
      for await (const part of response.setEncoding("latin1")) { // a character for each byte
        if ((text += part).length > 4 << 20) throw new Error("an answer of more than 4 MiB");
      }
      const answer = Object(JSON.parse(Buffer.from(text, "latin1").toString())) as Json;
      if (response.statusCode === 200) return answer;
      throw failed(isCode(answer["code"]) ? answer["code"] : "unavailable", answer["message"]);
    } catch (error) {
      const { message, code } = error as { message?: string; code?: string }; // that of several addresses has no message
      throw error instanceof RandflakeError ? error : failed("unavailable", signal.aborted ? "no answer in time" : message || code);
    } finally {
      clearTimeout(timer);
    }
  }
}
