export * from "./id.js";
export { Generator, LeasedGenerator, type GeneratorOptions, type GivenLease } from "./generator.js";
export { Minter, type MinterOptions } from "./minter.js";
export { Secret, type Fields } from "./secret.js";
export { Service, type Numbers, type ServiceOptions } from "./service.js";
