internal import CRDTCore
internal import SyncProtocol

/// What waits for time to pass, in the order in which it is done if it is due at once.
enum NodeTimer: CaseIterable {
    case connections
    case lapse
    case dueChanges
    case catchUp
    case erasing
    case completion
    case carrying
    case parcels
    case comparison
    case dial
    case beacon
    case clock
}

/// Everything that happens because time passed. All of it is checked after every event; a spurious timer is harmless.
extension Node where Store: ~Copyable {
    /// When something is due, in monotonic milliseconds; nil if it does not wait.
    private func deadline(of timer: NodeTimer) -> UInt64? {
        switch timer {
        case .connections: self.connections.values.map(\.deadline).min()
        case .lapse:
            self.admissions.paired.compactMap(\.lapse)
                .map { max($0.deadline, self.monotonicTime(of: $0.time)) }.min()
        case .dueChanges: self.held.nextDue.map { max(self.timers.dueTry, self.monotonicTime(of: $0)) }
        case .catchUp: self.catchUpDeadline
        case .erasing: self.erasingDeadline
        case .completion: self.completionDeadline
        case .carrying: self.carryingDeadline
        case .parcels: self.parcels.due
        case .comparison: self.comparisonDeadline
        case .dial: self.nextDialTime
        case .beacon: self.configuration.discovers ? self.timers.beacon : nil
        case .clock: self.clock.isTold ? nil : self.monotonicTime(of: self.clock.dueTime)
        }
    }

    /// Does what is due of one kind.
    mutating func handleTimer(_ timer: NodeTimer) {
        guard let deadline = self.deadline(of: timer), deadline <= self.now.monotonicMilliseconds else { return }
        switch timer {
        case .connections: self.checkConnections()
        case .lapse: self.forgetWhoDidNotCome()
        case .dueChanges: self.applyDueChanges()
        case .catchUp: self.catchUp()
        case .erasing: self.goOnErasing()
        case .completion: self.goOnCompleting()
        case .carrying: self.carryOver()
        case .parcels: self.exchangeParcels()
        case .comparison: self.goOnComparing()
        case .dial: self.dialWhoeverIsDue()
        case .beacon: self.sendBeacon()
        // It is looked at after every event.
        case .clock: break
        }
    }

    /// Does what is due after an event; late work only when time alone has passed.
    mutating func handleTimers() {
        self.checkClock()
        self.putOffComparison()
        for timer in NodeTimer.allCases where timer != .catchUp { self.handleTimer(timer) }
    }

    var earliestDeadline: UInt64? {
        var earliest: UInt64?
        for timer in NodeTimer.allCases {
            if let deadline = self.deadline(of: timer), deadline < earliest ?? .max { earliest = deadline }
        }
        return earliest
    }

    private mutating func checkConnections() {
        let now = self.now.monotonicMilliseconds
        for connection in self.connections.values.sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            switch connection.phase {
            case .opening(let deadline), .pairing(let deadline):
                if deadline <= now { self.drop(connection) }
            case .ready:
                self.checkIdle(connection)
            }
        }
    }

    private mutating func checkIdle(_ connection: PeerConnection) {
        let now = self.now.monotonicMilliseconds
        if connection.lastHeard + ConnectionTimes.idleTimeout <= now {
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

    /// When it will be so late by the wall clock, if that goes on as it is.
    func monotonicTime(of wall: WallTime) -> UInt64 {
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

/// Times that no state tells, in monotonic milliseconds.
struct TimerTable {
    var beacon: UInt64 = 0
    /// Not before it are due changes tried again that the store could not apply.
    var dueTry: UInt64 = 0
    /// When to go on with erasures, and with looking for what is needed of dropped writes.
    var erasing: UInt64 = 0
    var completion: UInt64 = 0
    /// When to go on with the digest of the state, and with mending.
    var comparison: UInt64 = 0
}
