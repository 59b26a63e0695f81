package import Engine

/// What the event queue holds.
package enum Occurrence {
    /// The next action of the plan is due.
    case action(Int)
    /// The alarm with this number goes off.
    case alarm(machine: Int, number: UInt64)
    /// The first segment of a lane arrives.
    case arrival(Wire, lane: Int)
    /// Something that only the process it was meant for hears of.
    case event(machine: Int, incarnation: Int, Event)
    /// Nobody has answered a dial for too long.
    case dialTimeout(Wire)
    case start(machine: Int)
    case resume(machine: Int, incarnation: Int)
    /// Links may let through again what waits on them.
    case release
    case diskHasRoom(machine: Int)
    case diskIsHonest(machine: Int)
    /// A stranger goes on.
    case stranger(Wire, chunks: [[UInt8]], every: VirtualTime)
    case newcomerGivesUp(Int)
    /// A stranger with keys of his own comes to a machine.
    case knock(machine: Int, [UInt8])
    /// A hostile member that stays goes to somebody.
    case hostileVisit(machine: Int)
    /// A hostile member goes on with what it sends a byte at a time.
    case hostileBytes(machine: Int, connection: ConnectionID, [UInt8])
    /// Somebody writes on a machine that no plan knew of.
    case work(machine: Int, [WorkStep])
    /// The oracles look at everything.
    case inspection
}
