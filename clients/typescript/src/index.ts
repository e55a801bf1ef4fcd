export * from "./id.js";
export { connect, type ClientOptions, type Service } from "./client.js";
export { type Refusal } from "./errors.js";
export { Generator, type Lease } from "./generator.js";
export { Keeper } from "./keeper.js";
export { type KeeperOptions, type Logger, type Status } from "./options.js";
export { LostError, ServiceError, type AcquireRequest, type LeaseRecord, type LeaseService } from "./service.js";
export { systemTime, type Time } from "./time.js";
