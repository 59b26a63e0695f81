internal import CRDTCore
internal import SyncProtocol

/// Everything that happens because time passed. All of it is checked after every event; a spurious timer is harmless.
extension Node where Store: ~Copyable {
    mutating func handleDeadlines() {
        let now = self.now.monotonicMilliseconds
        self.checkClock()
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
        if let deadline = self.erasingDeadline, deadline <= now { self.goOnErasing() }
        if let deadline = self.completionDeadline, deadline <= now { self.goOnCompleting() }
        self.dialWhoeverIsDue()
        if self.configuration.discovers, self.nextBeacon <= now { self.sendBeacon() }
    }

    private mutating func checkSilence(_ connection: PeerConnection) {
        let now = self.now.monotonicMilliseconds
        if connection.lastHeard + ConnectionTimes.silenceMax <= now {
            self.drop(connection)
            return
        }
        if let doubtedUntil = connection.doubtedUntil, doubtedUntil <= now {
            self.drop(connection)
            if let keys = connection.keys, !self.isInSession(with: keys) { self.book[keys]?.nextDial = now }
            return
        }
        if !connection.pingSent, connection.lastHeard + ConnectionTimes.pingAfter <= now {
            connection.pingSent = true
            self.send(.ping(self.shownTime), on: connection)
        }
        if let message = connection.session.graft(at: now) { self.send(message, on: connection) }
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
                consider(connection.doubtedUntil)
                consider(connection.session.graftDeadline)
            }
        }
        consider(self.nextDialTime)
        if self.configuration.discovers { consider(self.nextBeacon) }
        if !self.clock.isTold { consider(self.monotonicTime(of: self.clock.dueTime)) }
        if let due = self.nextDue { consider(max(self.nextDueTry, self.monotonicTime(of: due))) }
        consider(self.settlingDeadline)
        consider(self.erasingDeadline)
        consider(self.completionDeadline)
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

    /// Remembers and tells that the store failed.
    mutating func note(_ error: StoreError) {
        if self.storeFailure != error { self.effects.append(.notice(.storeFailed(error))) }
        self.storeFailure = error
    }
}
