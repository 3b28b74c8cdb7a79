// What is made when it is first asked for.

/** A map that makes the values it does not have. */
export class Lazy<K, V> extends Map<K, V> {
  constructor(private readonly make: (key: K) => V) {
    super();
  }

  of(key: K): V {
    if (!this.has(key)) this.set(key, this.make(key));
    return this.get(key)!;
  }
}
