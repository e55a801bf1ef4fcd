export * from "./id.js";
export { Generator, type GeneratorOptions } from "./generator.js";
export { Minter } from "./minter.js";
export { Secret, type Fields } from "./secret.js";
export { Service, type Limits, type ServiceOptions } from "./service.js";
