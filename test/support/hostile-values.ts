/** Values that nobody should throw, answer with or send: reading them throws, never ends, or is very large. */

const traps = [
  "get",
  "has",
  "ownKeys",
  "getPrototypeOf",
  "getOwnPropertyDescriptor",
  "defineProperty",
  "set",
  "deleteProperty",
  "isExtensible",
  "preventExtensions",
  "setPrototypeOf",
  "apply",
  "construct",
] as const;

/** A proxy whose every trap throws what `make` makes. */
function hostileProxy(make: () => unknown = () => new Error("trapped")): object {
  const handler = Object.fromEntries(
    traps.map((trap) => [
      trap,
      () => {
        throw make();
      },
    ]),
  );
  return new Proxy({}, handler);
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function throwing(...keys: readonly string[]): Error {
  const error = new Error("It throws when it is read.");
  for (const key of keys) {
    Object.defineProperty(error, key, {
      enumerable: true,
      get: () => {
        // oxlint-disable-next-line typescript/only-throw-error
        throw hostileProxy();
      },
    });
  }
  return error;
}

/** Without stacks, which take most of its time. */
function causeChain(length: number): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  let error = new Error("the first cause");
  for (let index = 1; index < length; index++) error = new Error(`${index}`, { cause: error });
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

class Endless extends Error {
  override get cause(): unknown {
    return new Endless("and one more");
  }
}

function circular(): object {
  const error = new Error("round");
  return Object.assign(error, { cause: error, self: [error] });
}

/** JSON of so many levels. */
function nested(levels: number): unknown {
  let value: unknown = "deep";
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { in: value };
  return value;
}

/** Each made anew, by name. */
export const hostileValues: Readonly<Record<string, () => unknown>> = {
  "a proxy that throws": () => hostileProxy(),
  "a proxy that throws itself": () => {
    const self: object = hostileProxy(() => self);
    return self;
  },
  "a proxy that throws nothing": () => hostileProxy(() => undefined),
  "a revoked proxy": revoked,
  "an error whose prototype is a proxy": () =>
    Object.setPrototypeOf(new Error("odd"), hostileProxy()) as unknown,
  "an error whose message throws": () => throwing("message"),
  "an error that throws wherever it is read": () =>
    throwing("name", "message", "stack", "cause", "code", "details", "toJSON", "then"),
  "an error with a cause that throws": () => new Error("outer", { cause: throwing("message") }),
  "20,000 causes": () => causeChain(20_000),
  "causes without an end": () => new Endless("one"),
  "an error that is its own cause": circular,
  "a long message": () => new Error("long ".repeat(400_000)),
  "a long text": () => "long ".repeat(400_000),
  "levels without an end": () => Object.assign(new Error("deep"), { details: nested(100_000) }),
  "1,000 levels": () => nested(1000),
  undefined: () => undefined,
  null: () => null,
  "a symbol": () => Symbol("s"),
  "a function": () => () => 1,
  "a big integer": () => 10n,
  "not a number": () => Number.NaN,
  "an object without a prototype": () =>
    Object.assign(Object.create(null), { message: "bare" }) as unknown,
  "a thenable that throws": () => ({
    // oxlint-disable-next-line unicorn/no-thenable
    then: () => {
      // oxlint-disable-next-line typescript/only-throw-error
      throw hostileProxy();
    },
  }),
  "an error that says another type of JSON": () =>
    Object.assign(new Error("x"), { toJSON: () => 5n }),
  "fields of other types": () =>
    Object.assign(new Error("x"), { name: 5, message: {}, stack: [], cause: 5, code: {} }),
  "an aggregate of odd errors": () =>
    new AggregateError([hostileProxy(), revoked(), Symbol("s")], "many"),
  "an error of a provider that throws": () =>
    Object.assign(throwing("responseHeaders", "statusCode"), { isRetryable: true }),
};
