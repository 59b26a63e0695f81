internal import CRDTCore
internal import SyncProtocol

/// Clocks that are wrong: which changes are held, who is told so, and how a device puts right its own.
extension Node where Store: ~Copyable {
    /// What is due by now is applied, and what is held by the clock as it is now is taken out.
    mutating func applyDueChanges() {
        self.finishMerging()
    }

    private mutating func finishMerging(catchesUpAt time: UInt64? = nil) {
        do throws(StoreError) {
            try self.replica.transaction {
                (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
                var merge = author.merge(catchesUpAt: time)
                try author.finish(&merge, in: &transaction)
            }
            try self.refreshWaits()
            self.storeFailure = nil
        } catch {
            self.tryDueChangesLater(error)
        }
    }

    /// Catches up with the restamps and the late moves that have come.
    mutating func catchUp() { self.finishMerging(catchesUpAt: self.now.monotonicMilliseconds) }

    /// When what was deferred is due; nil if there is nothing.
    var catchUpDeadline: UInt64? {
        self.replica.author.pace.time(of: self.state.deferred).map { max(self.timers.dueTry, $0) }
    }

    /// What is held may be another lot now, and others must hear what the clock shows.
    mutating func clockWasSet(from former: WallTime) {
        if former > self.clock.latestShown { self.noteShown(former) }
        self.applyDueChanges()
        self.confirmClock()
        self.tellTime()
    }

    /// The store could not apply what is due, or take out what is held.
    private mutating func tryDueChangesLater(_ error: StoreError) {
        self.note(error)
        self.held.nextDue = min(self.held.nextDue ?? self.now.wall, self.now.wall)
        // Not by the wall clock: put right meanwhile, it might show the time of the next try in years.
        self.timers.dueTry = self.now.monotonicMilliseconds + ConnectionTimes.backoffMax
    }

    /// Finds out which segments wait for time to pass, if not now then later.
    mutating func noteWaits() {
        do throws(StoreError) {
            try self.refreshWaits()
        } catch {
            self.tryDueChangesLater(error)
        }
    }

    /// Finds out which segments wait for time to pass, and tells whoever wrote them.
    mutating func refreshWaits() throws(StoreError) {
        let device = self.identity.device
        var merge = self.replica.author.merge()
        let (held, isOwnHeld) = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            var held: [(record: SegmentRecord, until: WallTime)] = []
            var isOwnHeld = false
            let waits = try merge.waits(in: &transaction)
            for (index, wait) in waits {
                let record = transaction.segment(index)
                if case .held(let until) = wait { held.append((record, until)) }
                guard !isOwnHeld, record.device == device else { continue }
                isOwnHeld = try waits.isHeld(index, in: &transaction)
            }
            return (held.sorted { ($0.record.id, $0.until) < ($1.record.id, $1.until) }, isOwnHeld)
        }
        self.held.nextDue = held.map(\.until).min()
        self.held.isOwn = isOwnHeld
        for wait in held where wait.record.device != device && self.held.told.insert(wait.record.id).inserted {
            let name = wait.record.introduction?.deviceName ?? "unknown"
            self.effects.append(.notice(.held(device: name, until: wait.until)))
        }
        self.held.told.formIntersection(held.map(\.record.id))
    }

    // MARK: - Our own clock

    /// What our clock shows; nil if we do not know whether it is right.
    var shownTime: WallTime? { self.clock.wasSetBack(at: self.now) ? nil : self.now.wall }

    /// Says to all what our clock shows now.
    private mutating func tellTime() {
        self.noteWhetherTimeIsKnown()
        for connection in self.readyConnections { self.send(.ping(self.shownTime), on: connection) }
    }

    /// Tells the user if our clock was set back.
    mutating func noteWhetherTimeIsKnown() {
        let isKnown = self.shownTime != nil
        if self.clock.isTold, !isKnown {
            self.effects.append(.notice(.clockSetBack(from: self.clock.latestShown)))
        }
        self.clock.isTold = isKnown
    }

    /// A peer says what its clock shows, if it knows: it may show whether ours is right.
    mutating func noteClock(_ time: WallTime?, of connection: PeerConnection) {
        let former = connection.clock
        connection.clock = time.map { PeerClock($0, heardAt: self.now) }
        if let ahead = connection.clock?.millisecondsAhead(at: self.now), ahead.isNoticeableClockDifference {
            connection.clock?.isDifferenceTold = true
            if !(former?.isDifferenceTold ?? false), let keys = connection.keys {
                let name = self.book[keys]?.shownName ?? "unknown"
                self.effects.append(.notice(.clockDiffers(device: name, millisecondsAhead: ahead)))
            }
        }
        self.confirmClock()
        self.repairClock()
    }

    /// Whatever our clock once showed, it is right now if one that nobody set back shows the same, or if there is no
    /// other.
    mutating func confirmClock() {
        guard self.clock.wasSetBack(at: self.now), self.isClockBelieved else { return }
        self.noteShown(self.now.wall)
    }

    /// Keeps what our clock is known to have shown.
    mutating func noteShown(_ latest: WallTime) {
        // If this cannot be kept, neither can what is held be taken out, and that shows it at the next start.
        self.clock.latestShown = max(self.clock.latestShown, latest)
        do throws(StoreError) {
            try self.replica.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try transaction.setLatestShown(latest)
            }
            self.clock.latestShown = latest
        } catch {
            self.note(error)
        }
    }

    /// Others are told the time as soon as we know it again, and what our clock shows is kept now and then.
    mutating func checkClock() {
        let kept = self.clock.latestShown.advanced(byMilliseconds: ClockEvidence.agreementMilliseconds)
        if kept < self.now.wall { self.noteShown(self.now.wall) }
        if !self.clock.isTold, self.shownTime != nil { self.tellTime() }
        self.repairClock()
    }

    /// If changes of this device are held here, its clock was ahead and has been put right, or is behind now: they are
    /// restamped as soon as another clock shows that it is right, or if there is nobody else.
    private mutating func repairClock() {
        // Mostly nothing is held.
        guard self.held.isOwn, self.isClockBelieved else { return }
        do throws(StoreError) {
            guard try self.restampHeld(isAsked: false) != nil else { return }
            try self.refreshWaits()
            self.pumpAll()
        } catch {
            self.note(error)
        }
    }

    /// Whether what is held here may be restamped without asking the user: another clock shows the same as ours, or
    /// there is no other.
    var isClockBelieved: Bool {
        guard self.now.wall.milliseconds > ClockEvidence.plausibleMilliseconds else { return false }
        // Who was let in by somebody else is not alone, whom he has not met yet.
        let isAlone = self.book.entries.isEmpty && self.identity.user == self.identity.founder
        return isAlone || self.isClockConfirmed
    }

    /// Whether the clock of a device that is connected shows the same as ours, and fewer show a later time.
    var isClockConfirmed: Bool {
        let differences = self.readyConnections.compactMap { $0.clock?.millisecondsAhead(at: self.now) }
        let agreeing = differences.count { $0.magnitude <= ClockEvidence.agreementMilliseconds }
        return agreeing > differences.count { $0 > 0 && $0.isNoticeableClockDifference }
    }
}

/// What is known of changes that are held.
struct HeldChanges {
    /// When the first of them is due, in wall time.
    var nextDue: WallTime?
    /// Whether changes of this device are among them.
    var isOwn = false
    /// Chains of which the user was already told.
    var told: Set<ReplicaID> = []
}

extension NodeTransaction {
    /// What the device's clock is known to have shown.
    mutating func latestShown() throws(StoreError) -> WallTime {
        var reader = ByteReader(try self.fact(NodeFact.latestShown) ?? [])
        return WallTime(milliseconds: (try? reader.varint()) ?? 0)
    }

    mutating func setLatestShown(_ time: WallTime) throws(StoreError) {
        var bytes: [UInt8] = []
        bytes.appendVarint(time.milliseconds)
        try self.setFact(NodeFact.latestShown, bytes)
    }
}

extension WallTime {
    /// By how much a clock may be wrong between two events without having been set.
    fileprivate static let setMilliseconds: UInt64 = 1_000

    /// Whether the clock shows another time now than it would if it had gone on since a moment.
    func isSet(since before: ClockReading, at now: ClockReading) -> Bool {
        let passed = now.monotonicMilliseconds &- before.monotonicMilliseconds
        let expected = before.wall.advanced(byMilliseconds: passed)
        return self.advanced(byMilliseconds: WallTime.setMilliseconds) < expected
            || expected.advanced(byMilliseconds: WallTime.setMilliseconds) < self
    }
}
