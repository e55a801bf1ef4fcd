import { Keeper, type KeeperOptions } from "@randflake/client";
import { Line, Skewed, Space, VirtualTime, cipher, secret } from "./testbed.js";

/** A space, and keepers on it with a clock each. */
export class Town {
  readonly time = new VirtualTime();
  readonly space = new Space(this.time.second);
  readonly log: string[] = [];

  async keep(options: Partial<KeeperOptions> = {}, line?: Line) {
    const clock = new Skewed(this.time);
    line ??= new Line(this.space, clock);
    const note = (level: string) => (text: string) => this.log.push(`${level} ${text.replace(/ \(nodes.*/, "")}`);
    const logger = { info: note("info"), warn: note("warn"), error: note("error") };
    await (options.secret ?? secret).checkValue(); // takes real time, once
    const opened = Keeper.open({ leases: line, secret, time: clock, random: () => 0.5, logger, ...options });
    const keeper = await this.time.until(opened);
    return {
      keeper,
      line,
      clock,
      node: () => cipher.inspect(keeper.generate()).node,
      record: () => [...line.granted.values()].at(-1)!,
    };
  }
}
