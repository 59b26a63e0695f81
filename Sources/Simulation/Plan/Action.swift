/// Something that is done to the world at a time: what plans and scenarios are made of.
///
/// Peers are numbered from 0 in the order in which they joined; objects are numbered too.
package enum Action: Hashable, Sendable {
    case write(peer: Int, [WorkStep])
    case network(NetworkAction)
    case stranger(peer: Int, StrangerAction)
    /// A member does what the protocol forbids; the first time, it stops being an ordinary peer for good.
    case hostile(peer: Int, victim: Int, HostileAction)
    case clock(peer: Int, ClockAction)
    /// The user says that the clock is right: everything that is held is restamped.
    case restamp(peer: Int)
    case history(peer: Int, HistoryAction)
    case branch(peer: Int, BranchAction)
    case sharing(peer: Int, SharingAction)
    case process(peer: Int, ProcessAction)
    case disk(peer: Int, DiskAction)
    /// A new device joins by an invite of this peer.
    case join(inviter: Int)
    /// A new device comes with an invite of this peer, over a connection on which something goes wrong.
    case pair(inviter: Int, PairingTrouble)
    /// The peer fails for good.
    case leave(peer: Int)
}

/// One step of a transaction, on numbered objects.
package enum WorkStep: Hashable, Sendable {
    case create(Int, parent: Int?)
    /// Makes the object if it is not there, and writes a value that no other step writes.
    case set(Int, property: Int)
    case unset(Int, property: Int)
    /// As `set`, with a value that the scenario names.
    case assign(Int, name: String, text: String)
    case clear(Int, name: String)
    case move(Int, parent: Int?)
    case delete(Int)
    /// Writes the same value to two registers of two objects that nothing else writes to.
    case twins
    /// Makes a new object under another, before one of those that are there or behind all.
    case insert(under: Int, before: Int?)
    /// Makes so many new objects under another, in one transaction.
    case fill(Int, count: Int)
    /// Writes so many properties, with names of so many bytes, in one transaction.
    case spread(Int, count: Int, nameByteCount: Int)
}

package enum NetworkAction: Hashable, Sendable {
    /// Only peers of one group reach each other.
    case partition([[Int]])
    case healPartition
    /// Nothing passes, in both directions, for a time.
    case stall(Int, Int, VirtualTime)
    /// Nothing passes from the first to the second for a time.
    case halfOpen(from: Int, to: Int, VirtualTime)
    /// All connections between two peers end; what is under way is lost.
    case reset(Int, Int)
    /// The next connection, or the present one, ends after so many more bytes from the first to the second.
    case cut(from: Int, to: Int, afterByteCount: Int)
    /// The first sees its connections end; the second hears of it late.
    case oneSidedCut(Int, Int, VirtualTime)
    /// The stream from the first to the second ends without a goodbye.
    case truncate(from: Int, to: Int)
    /// One bit of the next bytes from the first to the second arrives changed.
    case flipBit(from: Int, to: Int, bit: Int)
    case refuseDials(to: Int, VirtualTime)
    /// The second answers at the first's address for a time.
    case impersonate(Int, by: Int, VirtualTime)
    /// Both dial at the same instant.
    case dialTogether(Int, Int)
}

/// What somebody without keys does to a peer.
package enum StrangerAction: Hashable, Sendable {
    /// Sends what a peer once sent to begin a connection.
    case replayHandshake
    /// Sends all that was recorded of a connection.
    case replayStream
    case garbage(byteCount: Int)
    /// Connects and says nothing, or one byte at a time.
    case silence
    case flood(connectionCount: Int)
    /// Comes with keys that are nobody's, so many times.
    case knock(count: Int)
}

package enum ClockAction: Hashable, Sendable {
    /// The clock is this far from the true time, and right in speed.
    case offset(milliseconds: Int64)
    /// The clock shows 1970.
    case epoch
    case drift(partsPerMillion: Int)
    case stuck
    /// The clock is set forward or back by so much.
    case jump(milliseconds: Int64)
}

/// What a peer's user does with the past.
package enum HistoryAction: Hashable, Sendable {
    /// Takes the last action back that the user's program has done and that is in force.
    case undo
    /// Does the action again that was taken back last.
    case redo
    /// The user works with a program, nil for the one without a name: it begins an action, to which all belongs that it
    /// writes, or goes on with its last one.
    case act(program: Int?, isNew: Bool)
    /// Keeps the present state in mind; it is also one of those that are read again in the end.
    case remember
    /// Makes an object, with what is below it, what it was when the peer last kept a state in mind.
    case bringBack(Int)
    /// Drops what was replaced longer ago.
    case compact(keeping: VirtualTime)
    /// Erases the past of a property on all machines.
    case forget(Int, name: String)
}

/// What a peer's user does with branches of the workspace, which are numbered; nil is the main timeline.
package enum BranchAction: Hashable, Sendable {
    /// Creates a branch with the state that its parent has, or that the peer last kept in mind.
    case open(Int, leaving: Int?, isOfThePast: Bool)
    case write(Int, [WorkStep])
    /// Takes back, on the branch, the user's last transaction that counts there, or does one again.
    case reverse(Int, isRedo: Bool)
    case merge(Int?, into: Int?)
    case close(Int)
}

package enum ProcessAction: Hashable, Sendable {
    case kill(downtime: VirtualTime)
    case powerCut(PowerLoss, downtime: VirtualTime)
    case killAtStoreCall(Int, downtime: VirtualTime)
    case powerCutAtStoreCall(Int, PowerLoss, downtime: VirtualTime)
    /// Ends in order and starts again; the clock may be set back in between.
    case restart(downtime: VirtualTime, clockBackMilliseconds: UInt64)
    case pause(VirtualTime)
}

package enum DiskAction: Hashable, Sendable {
    case failNext(DiskCall)
    case full(VirtualTime)
    /// Files may grow by so many bytes more; from then on the disk is full, until the time is over.
    case fullAfter(byteCount: Int, VirtualTime)
    case lie(VirtualTime)
    case flipBit(seed: Int)
    /// Another program alters some of the properties that are shown, which the machine takes note of.
    case alter(seed: Int)
    /// The process is killed and the write-ahead log is gone when it starts.
    case loseLog
    case backUp
    /// The last backup is put back: of the whole disk, or of the database alone, so that the token beside it tells.
    case restore(isDatabaseAlone: Bool)
    /// Another machine with the same keys and a copy of the disk, or of the database alone, appears.
    case clone(isDatabaseAlone: Bool)
}

/// An action and when it is done.
package struct TimedAction: Hashable, Sendable {
    package var time: VirtualTime
    package var action: Action
}
