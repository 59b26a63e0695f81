package import CRDTCore
package import Engine

/// Which connections wait because what came over them took long to handle.
///
/// Nearly everything costs what its bytes cost, but a few things that a member may say cost more: a late move has those
/// after it done again. Those who say such things, however many they are, share a quarter of the time, one after the
/// other; everybody else's words and writes have the rest. What counts is the processor's time: a machine that is busy
/// with something else, or a slow disk, is nobody's debt.
package struct ReadingPace {
    /// To handle what arrived together may take so long, and so much longer for each KiB.
    package static let allowedMilliseconds: UInt64 = 20
    package static let allowedMillisecondsPerKiB: UInt64 = 20
    /// What takes longer is a debt, of which one millisecond is paid in so many.
    package static let millisecondsPerDebt: UInt64 = 3
    /// A debt is never larger: a peer that hears nothing for `ConnectionTimes.idleTimeout` hangs up.
    package static let debtMaxMilliseconds: UInt64 = 5_000
    /// So much is handled at once of what was kept back.
    package static let releasedByteCountMax = 64 << 10
    /// Who made a debt shares in it for so long.
    package static let memoryMilliseconds: UInt64 = 600_000

    /// Who may wait: a device where it is known which one it is, since it stays the same when it connects anew.
    package enum Party: Hashable {
        case device(DeviceID)
        case connection(ConnectionID)
    }

    /// When those that made a debt did it last.
    private var debtors: [Party: UInt64] = [:]
    /// When the debt of all of them will be paid.
    private var end: UInt64 = 0
    /// What is kept back, in the order in which it came; the transport stops reading when it is too much.
    private var held: [(party: Party, connection: ConnectionID, bytes: [UInt8])] = []

    package init() {}

    /// Whether bytes are kept back for now.
    package mutating func holds(
        _ bytes: [UInt8],
        on connection: ConnectionID,
        of party: Party,
        at now: UInt64
    ) -> Bool {
        let mustWait = now < self.end && self.debtors[party] != nil
        guard mustWait || self.held.contains(where: { $0.connection == connection }) else { return false }
        self.held.append((party, connection, bytes))
        return true
    }

    /// Takes note of how much of a processor's time bytes took.
    package mutating func handled(byteCount: Int, of party: Party, milliseconds: UInt64, at now: UInt64) {
        let allowed = Self.allowedMilliseconds + UInt64(byteCount) * Self.allowedMillisecondsPerKiB / 1024
        guard milliseconds > allowed else { return }
        self.debtors = self.debtors.filter { now - min(now, $0.value) < Self.memoryMilliseconds }
        self.debtors[party] = now
        let end = max(self.end, now) + (milliseconds - allowed) * Self.millisecondsPerDebt
        self.end = min(end, now + Self.debtMaxMilliseconds * Self.millisecondsPerDebt)
    }

    /// Forgets what was kept back of a connection that has ended.
    package mutating func ended(_ connection: ConnectionID) { self.held.removeAll { $0.connection == connection } }

    /// When something that is kept back is due; nil if nothing is.
    package var nextEnd: UInt64? { self.held.isEmpty ? nil : self.end }

    /// What is due on the connection that has been served longest ago, as if it had arrived at once.
    ///
    /// So what it has done anew is done once for all of it. The rest of the connection stays behind it.
    package mutating func release(at now: UInt64) -> (party: Party, connection: ConnectionID, bytes: [UInt8])? {
        guard now >= self.end else { return nil }
        let next = self.held.min { (self.debtors[$0.party] ?? 0) < (self.debtors[$1.party] ?? 0) }
        guard let next else { return nil }
        var due: [UInt8] = []
        // No more than a socket hands over at once: a user's write may have to wait for it.
        while due.count < Self.releasedByteCountMax,
            let position = self.held.firstIndex(where: { $0.connection == next.connection })
        {
            due += self.held.remove(at: position).bytes
        }
        return (next.party, next.connection, due)
    }
}
