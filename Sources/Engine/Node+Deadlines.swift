internal import CRDTCore
internal import SyncProtocol

/// Everything that happens because time passed. All of it is checked after every event; a spurious timer is harmless.
extension Node where Store: ~Copyable {
    mutating func handleDeadlines() {
        let now = self.now.monotonicMilliseconds
        self.retryClockRepair()
        // Mostly nothing is due.
        guard let earliest = self.earliestDeadline(), earliest <= now else { return }
        for connection in self.connections.values.sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            switch connection.phase {
            case .opening(let deadline), .pairing(let deadline):
                if deadline <= now { self.drop(connection) }
            case .ready:
                self.checkSilence(connection)
            }
        }
        self.forgetWhoDidNotCome()
        if let due = self.nextDue, due <= self.now.wall, self.nextDueTry <= now { self.applyDueChanges() }
        self.dialWhoeverIsDue()
        if self.configuration.discovers, self.nextBeacon <= now { self.sendBeacon() }
    }

    /// A peer said that our changes are held: our clock may have been put right since.
    private mutating func retryClockRepair() {
        let now = self.now.wall
        guard let tried = self.clockRepairTried, HybridClock.isHeld(self.author.clock.last, at: now),
            now < tried || now >= tried.advanced(byMilliseconds: ConnectionTimes.clockRepairInterval)
        else { return }
        self.clockRepairTried = now
        _ = self.repairClockIfNeeded()
    }

    private mutating func checkSilence(_ connection: PeerConnection) {
        let now = self.now.monotonicMilliseconds
        #if PLANTED_BUGS
        let isSilent = connection.lastHeard + ConnectionTimes.silenceMax <= now
        if PlantedBug.silenceTolerated.isPlanted, isSilent { connection.lastHeard = now }
        #endif
        if connection.lastHeard + ConnectionTimes.silenceMax <= now {
            self.drop(connection)
            return
        }
        if !connection.pingSent, connection.lastHeard + ConnectionTimes.pingAfter <= now {
            connection.pingSent = true
            self.send(.ping(now), on: connection)
        }
        if let proof = connection.conversation.proofDeadline, proof <= now { self.showHashes(connection) }
        if let graft = connection.conversation.graftDeadline, graft <= now {
            connection.conversation.graftDeadline = nil
            connection.conversation.askedForLazy = false
            #if PLANTED_BUGS
            if PlantedBug.announcedNotAskedFor.isPlanted { return }
            #endif
            self.send(.eagerness(true), on: connection)
        }
    }

    func earliestDeadline() -> UInt64? {
        var earliest: UInt64?
        func consider(_ time: UInt64?) {
            if let time { earliest = min(earliest ?? time, time) }
        }
        for connection in self.connections.values {
            switch connection.phase {
            case .opening(let deadline), .pairing(let deadline): consider(deadline)
            case .ready:
                let silence = connection.pingSent ? ConnectionTimes.silenceMax : ConnectionTimes.pingAfter
                consider(connection.lastHeard + silence)
                consider(connection.conversation.graftDeadline)
                consider(connection.conversation.proofDeadline)
            }
        }
        consider(self.nextDialTime)
        if self.configuration.discovers { consider(self.nextBeacon) }
        if let due = self.nextDue { consider(max(self.nextDueTry, self.monotonicTime(of: due))) }
        for device in self.pairedDevices {
            if let lapse = device.lapse { consider(max(lapse.deadline, self.monotonicTime(of: lapse.time))) }
        }
        return earliest
    }

    /// When it will be so late by the wall clock, if that goes on as it is.
    private func monotonicTime(of wall: WallTime) -> UInt64 {
        let now = self.now.wall.milliseconds
        let wait = wall.milliseconds > now ? wall.milliseconds - now : 0
        return self.now.monotonicMilliseconds.addingReportingOverflow(wait).partialValue
    }

    /// Held changes have come due, or may have: applies what is ready.
    mutating func applyDueChanges() {
        #if PLANTED_BUGS
        if PlantedBug.heldNeverReleased.isPlanted {
            self.nextDue = nil
            return
        }
        #endif
        do throws(StoreError) {
            let summary = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                var merge = Merge(now: self.now.wall)
                try merge.finish(in: &transaction)
                return merge.summary
            }
            self.author.clock.observe(summary.appliedStamp)
            try self.refreshWaits()
            self.storeFailure = nil
        } catch {
            self.note(error)
            // Not by the wall clock: put right meanwhile, it might show the time of the next try in years.
            self.nextDueTry = self.now.monotonicMilliseconds + ConnectionTimes.backoffMax
        }
    }

    /// Finds out which chains wait for time to pass, if not now then later.
    mutating func noteWaits() {
        #if PLANTED_BUGS
        if PlantedBug.rebuiltWaitsForgotten.isPlanted { return }
        #endif
        do throws(StoreError) {
            try self.refreshWaits()
        } catch {
            self.note(error)
            self.nextDue = min(self.nextDue ?? self.now.wall, self.now.wall)
            self.nextDueTry = self.now.monotonicMilliseconds + ConnectionTimes.backoffMax
        }
    }

    /// Finds out which chains wait for time to pass, and tells whoever wrote them.
    mutating func refreshWaits() throws(StoreError) {
        let now = self.now.wall
        let waits = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            var held: [(record: ReplicaRecord, until: WallTime)] = []
            for (index, wait) in try Merge.waits(at: now, in: &transaction) {
                if case .held(let until) = wait { held.append((transaction.replica(index), until)) }
            }
            return held.sorted { $0.record.id < $1.record.id }
        }
        self.nextDue = waits.map(\.until).min()
        for wait in waits where self.toldHeld.insert(wait.record.id).inserted {
            let name = wait.record.introduction?.deviceName ?? "unknown"
            self.effects.append(.notice(.held(device: name, until: wait.until)))
        }
        self.toldHeld.formIntersection(waits.map(\.record.id))
        #if PLANTED_BUGS
        if PlantedBug.heldBehindDueUnsaid.isPlanted { return }
        #endif
        let heldDevices = Set(waits.compactMap(\.record.device))
        for connection in self.readyConnections where connection.device.map(heldDevices.contains) ?? false {
            self.sendHeldNotices(connection)
        }
    }

    /// Remembers and tells that the store failed.
    mutating func note(_ error: StoreError) {
        if self.storeFailure != error { self.effects.append(.notice(.storeFailed(error))) }
        self.storeFailure = error
    }
}
