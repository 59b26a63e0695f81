internal import CRDTCore
internal import SyncProtocol

/// Clocks that are wrong: which changes are held, who is told so, and how a device puts right its own.
extension Node where Store: ~Copyable {
    /// What is due by now is applied, and what is held by the clock as it is now is taken out.
    mutating func applyDueChanges() {
        #if PLANTED_BUGS
        if PlantedBug.heldNeverReleased.isPlanted {
            self.nextDue = nil
            return
        }
        #endif
        do throws(StoreError) {
            try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                var merge = self.author.merge()
                try merge.finish(in: &transaction)
            }
            try self.refreshWaits()
            self.storeFailure = nil
        } catch {
            self.tryDueChangesLater(error)
        }
    }

    /// What is held may be another lot now, and whoever is told of it must hear of the clock as it is now.
    mutating func clockWasSet() {
        for connection in self.connections.values { connection.toldHeld = [:] }
        self.applyDueChanges()
    }

    /// The store could not apply what is due, or take out what is held.
    private mutating func tryDueChangesLater(_ error: StoreError) {
        self.note(error)
        self.nextDue = min(self.nextDue ?? self.now.wall, self.now.wall)
        // Not by the wall clock: put right meanwhile, it might show the time of the next try in years.
        self.nextDueTry = self.now.monotonicMilliseconds + ConnectionTimes.backoffMax
    }

    /// Finds out which lines wait for time to pass, if not now then later.
    mutating func noteWaits() {
        do throws(StoreError) {
            try self.refreshWaits()
        } catch {
            self.tryDueChangesLater(error)
        }
    }

    /// Finds out which lines wait for time to pass, and tells whoever wrote them.
    mutating func refreshWaits() throws(StoreError) {
        let device = self.author.identity.device
        let (held, isOwnHeld) = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            var merge = self.author.merge()
            var held: [(record: LineRecord, until: WallTime)] = []
            var isOwnHeld = false
            let waits = try merge.waits(in: &transaction)
            for (index, wait) in waits {
                let record = transaction.line(index)
                if case .held(let until) = wait { held.append((record, until)) }
                guard !isOwnHeld, record.device == device else { continue }
                isOwnHeld = try waits.isHeld(index, in: &transaction)
            }
            return (held.sorted { ($0.record.id, $0.until) < ($1.record.id, $1.until) }, isOwnHeld)
        }
        self.nextDue = held.map(\.until).min()
        self.isOwnHeld = isOwnHeld
        for wait in held where self.toldHeld.insert(wait.record.id).inserted {
            let name = wait.record.introduction?.deviceName ?? "unknown"
            self.effects.append(.notice(.held(device: name, until: wait.until)))
        }
        self.toldHeld.formIntersection(held.map(\.record.id))
        let devices = Set(held.compactMap(\.record.device))
        for connection in self.readyConnections where connection.device.map(devices.contains) ?? false {
            self.sendHeldNotices(connection)
        }
    }

    // MARK: - Our own clock

    /// A peer's clock shows whether ours is right.
    mutating func noteClock(_ wallTime: WallTime, of device: DeviceID) {
        self.clockWitnesses[device] = ClockWitness(wallTime, heardAt: self.now)
        self.repairClock()
    }

    /// A peer holds our changes: the user must be told if our clock is still ahead.
    mutating func heardHeld(_ notice: HeldNotice, from connection: PeerConnection) {
        if let device = connection.device { self.noteClock(notice.wallTime, of: device) }
        let (ours, theirs) = (self.now.wall.milliseconds, notice.wallTime.milliseconds)
        guard ours > theirs, ours - theirs > HybridClock.skewMaxMilliseconds else {
            self.clockAheadMilliseconds = nil
            return
        }
        self.clockAheadMilliseconds = ours - theirs
        let name = connection.device.flatMap { self.book.entry(of: $0)?.shownName } ?? "unknown"
        self.effects.append(.notice(.clockAhead(milliseconds: ours - theirs, accordingTo: name)))
    }

    /// If changes of this device are held here, its clock was ahead and has been put right: they are restamped, as soon
    /// as another clock shows the same time, or if there is nobody else.
    mutating func repairClock() {
        #if PLANTED_BUGS
        if PlantedBug.ownChangesNotRestamped.isPlanted { return }
        #endif
        // Mostly nothing is held. A clock without a battery starts long before that year.
        guard self.isOwnHeld, self.now.wall.milliseconds > ClockWitness.plausibleMilliseconds else { return }
        // Others' clocks may be wrong as well: one that shows the same is enough.
        let isWitnessed = self.clockWitnesses.values.contains { $0.agrees(with: self.now) }
        guard isWitnessed || self.clockWitnesses.isEmpty else { return }
        let standing = self.author.standing
        let device = self.author.identity.device
        do throws(StoreError) {
            let receipt = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                let isAlone = (0..<transaction.lineCount).allSatisfy {
                    transaction.line(LineIndex(rawValue: UInt32($0))).device == device
                }
                return isWitnessed || isAlone ? try self.author.restamp(isAsked: false, in: &transaction) : nil
            }
            guard receipt != nil else { return }
            self.clockAheadMilliseconds = nil
            self.noteReplica(since: standing)
            try self.refreshWaits()
            self.pumpAll()
        } catch {
            self.author.standing = standing
            self.note(error)
        }
    }
}

extension WallTime {
    /// By how much a clock may be wrong between two events without having been set.
    fileprivate static let setMilliseconds: UInt64 = 1_000

    /// Whether the clock shows another time now than it would if it had gone on since a moment.
    func isSet(since before: Moment, at now: Moment) -> Bool {
        let passed = now.monotonicMilliseconds &- before.monotonicMilliseconds
        let expected = before.wall.advanced(byMilliseconds: passed)
        return self.advanced(byMilliseconds: WallTime.setMilliseconds) < expected
            || expected.advanced(byMilliseconds: WallTime.setMilliseconds) < self
    }
}
