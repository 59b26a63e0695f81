package import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Reaching other devices: addresses, backoff, beacons.
extension Node where Store: ~Copyable {
    mutating func addAddress(_ address: NetworkAddress) {
        self.book.unknownAddresses[address] = DeviceBook.UnknownAddress(nextDial: self.now.monotonicMilliseconds)
    }

    mutating func dialAll() {
        let now = self.now.monotonicMilliseconds
        for key in self.book.sortedKeys {
            self.book[key]?.nextDial = now
            self.book[key]?.backoff = ConnectionTimes.backoffFirst
            self.book[key]?.avoidedUntil = 0
        }
        for address in self.book.unknownAddresses.keys {
            self.book.unknownAddresses[address]?.nextDial = now
            self.book.unknownAddresses[address]?.backoff = ConnectionTimes.backoffFirst
        }
        if self.configuration.discovers { self.nextBeacon = now }
    }

    /// Reads who is a member from the log and from pairings.
    mutating func refreshBook() throws(StoreError) {
        #if PLANTED_BUGS
        if PlantedBug.introductionsUnheeded.isPlanted, !self.connections.isEmpty { return }
        #endif
        let own = self.author.identity.device
        var introduced: Set<DeviceID> = []
        let introductions = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            (0..<transaction.lineCount).compactMap {
                transaction.line(LineIndex(rawValue: UInt32($0))).introduction
            }
        }
        for introduction in introductions {
            guard let certificate = introduction.certificates.first, certificate.device != own else { continue }
            introduced.insert(certificate.device)
            self.book.add(certificate.device, name: introduction.deviceName, staticKey: certificate.staticKey)
        }
        for paired in self.pairedDevices where !introduced.contains(paired.device) {
            self.book.add(paired.device, name: paired.name, staticKey: paired.staticKey)
        }
        // A joining device knows its inviter from its own certificates before it has seen anything of the log.
        for certificate in self.author.identity.certificates where certificate.device != own {
            self.book.add(certificate.device, name: "", staticKey: certificate.staticKey)
        }
    }

    // MARK: - Dialling

    var nextDialTime: UInt64? {
        var earliest: UInt64?
        for (key, entry) in self.book.entries {
            guard let next = entry.nextDial, entry.hasAddress, !self.isBusy(with: key) else { continue }
            let time = max(next, entry.avoidedUntil)
            earliest = min(earliest ?? time, time)
        }
        for (address, unknown) in self.book.unknownAddresses where !self.isBusy(with: address, unknown) {
            earliest = min(earliest ?? unknown.nextDial, unknown.nextDial)
        }
        return earliest
    }

    mutating func dialWhoeverIsDue() {
        let now = self.now.monotonicMilliseconds
        for key in self.book.sortedKeys {
            guard var entry = self.book[key], let time = entry.nextDial, max(time, entry.avoidedUntil) <= now,
                !self.isBusy(with: key), let address = entry.takeAddress()
            else { continue }
            self.book[key] = entry
            self.dial(address, key)
        }
        let unknown = self.book.unknownAddresses.sorted { ($0.key.host, $0.key.port) < ($1.key.host, $1.key.port) }
        for (address, state) in unknown where state.nextDial <= now && !self.isBusy(with: address, state) {
            let candidates = state.owner.map { [$0] } ?? self.book.sortedKeys.filter { !self.isBusy(with: $0) }
            guard !candidates.isEmpty else {
                // Nobody it could belong to is missing, or someone is being dialled elsewhere: look again later.
                let isDialling = self.connections.values.contains { $0.device == nil }
                let wait = isDialling ? ConnectionTimes.backoffFirst : ConnectionTimes.backoffMax
                self.book.unknownAddresses[address]?.nextDial = now + wait
                continue
            }
            let key = candidates[state.nextKey % candidates.count]
            self.book.unknownAddresses[address]?.nextKey = (state.nextKey + 1) % candidates.count
            self.dial(address, key)
        }
    }

    private func isBusy(with key: StaticKey) -> Bool {
        self.connections.values.contains { $0.staticKey == key || $0.expectedKey == key }
    }

    private func isBusy(with address: NetworkAddress, _ state: DeviceBook.UnknownAddress) -> Bool {
        if let owner = state.owner, self.isBusy(with: owner) { return true }
        return self.connections.values.contains { $0.isDialled && $0.address == address }
    }

    private mutating func dial(_ address: NetworkAddress, _ key: StaticKey) {
        guard self.connections.count < ConnectionLimits.countMax else { return }
        let id = ConnectionID(rawValue: self.nextConnection)
        self.nextConnection += 1
        let now = self.now.monotonicMilliseconds
        // The handshake is made when somebody answers: most dials of an absent peer come to nothing.
        let connection = PeerConnection(
            id: id,
            isDialled: true,
            address: address,
            link: .answering(ownStatic: self.author.identity.publicStaticKey),
            session: SyncSession(isDialled: true, self.author.cryptography),
            deadline: now + ConnectionTimes.dialDeadline,
            now: now
        )
        connection.expectedKey = key
        self.connections[id] = connection
        self.effects.append(.dial(id, address))
    }

    mutating func dialFailed(_ id: ConnectionID) {
        guard let connection = self.connections.removeValue(forKey: id) else { return }
        self.dialEnded(connection)
    }

    /// A dial came to nothing: wait longer before the next.
    mutating func dialEnded(_ connection: PeerConnection) {
        if let key = connection.expectedKey { self.scheduleRedial(key, from: nil) }
        guard let unknown = self.book.unknownAddresses[connection.address] else { return }
        let (wait, backoff) = self.nextBackoff(unknown.backoff)
        self.book.unknownAddresses[connection.address]?.nextDial = self.now.monotonicMilliseconds + wait
        self.book.unknownAddresses[connection.address]?.backoff = backoff
        // Whoever was there before may have left the address to another.
        self.book.unknownAddresses[connection.address]?.owner = nil
    }

    /// `backoff`: with what wait to begin, after a session; nil to go on with what is due after a failed dial.
    mutating func scheduleRedial(_ key: StaticKey, from backoff: UInt64?) {
        guard var entry = self.book[key] else { return }
        if let backoff { entry.backoff = backoff }
        let (wait, next) = self.nextBackoff(entry.backoff)
        entry.nextDial = self.now.monotonicMilliseconds + wait
        entry.backoff = next
        self.book[key] = entry
        for (address, unknown) in self.book.unknownAddresses
        where unknown.owner == key || backoff != nil && unknown.owner == nil {
            self.book.unknownAddresses[address]?.nextDial = self.now.monotonicMilliseconds + wait
            self.book.unknownAddresses[address]?.backoff = next
        }
    }

    /// Who broke the protocol is left alone for a while, each time in a row for longer: what it says will hardly be
    /// better at once.
    mutating func avoid(_ key: StaticKey) {
        guard var entry = self.book[key] else { return }
        let now = self.now.monotonicMilliseconds
        if now > entry.avoidedUntil + 2 * ConnectionTimes.backoffMax { entry.avoidance = ConnectionTimes.backoffFirst }
        let (wait, next) = self.nextBackoff(entry.avoidance)
        entry.avoidance = next
        entry.avoidedUntil = now + wait
        self.book[key] = entry
        for (address, unknown) in self.book.unknownAddresses where unknown.owner == key {
            self.book.unknownAddresses[address]?.nextDial = max(unknown.nextDial, now + wait)
        }
    }

    /// Between half and all of the backoff, so that devices that lost each other do not dial in step; then doubled.
    private mutating func nextBackoff(_ backoff: UInt64) -> (wait: UInt64, next: UInt64) {
        #if PLANTED_BUGS
        if PlantedBug.retriesAtOnce.isPlanted { return (1, backoff) }
        #endif
        let half = backoff / 2
        let wait = half + self.author.entropy.nextUInt64() % (backoff - half + 1)
        return (wait, min(backoff * 2, ConnectionTimes.backoffMax))
    }

    // MARK: - Addresses that are remembered

    /// Takes note of where a device was reached, and remembers it over restarts.
    mutating func remember(_ address: NetworkAddress, of key: StaticKey) {
        guard self.book[key]?.addresses.first != address else { return }
        self.book.note(address, of: key)
        let records = self.book.sortedKeys.flatMap { key in
            (self.book[key]?.addresses ?? []).reversed().map {
                AddressRecord(staticKey: key, host: $0.host, port: $0.port)
            }
        }
        do throws(StoreError) {
            try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try transaction.setAddresses(records)
            }
        } catch {
            self.note(error)
        }
    }

    mutating func restoreAddresses(_ records: [AddressRecord]) {
        for record in records {
            self.book.note(NetworkAddress(host: record.host, port: record.port), of: record.staticKey)
        }
        for key in self.book.sortedKeys { self.book[key]?.nextDial = self.now.monotonicMilliseconds }
    }

    /// Notes where the inviter of a device that has just joined can be reached, before its first meeting.
    package mutating func noteInviter(_ key: StaticKey, addresses: [NetworkAddress]) {
        for address in addresses.reversed() { self.remember(address, of: key) }
        self.book[key]?.nextDial = self.now.monotonicMilliseconds
    }

    // MARK: - Beacons

    mutating func sendBeacon() {
        let jitter = self.author.entropy.nextUInt64() % (ConnectionTimes.beaconInterval / 4)
        self.nextBeacon = self.now.monotonicMilliseconds + ConnectionTimes.beaconInterval - jitter
        guard let port = self.configuration.listenPort else { return }
        let beacon = Beacon(
            tag: Beacon.tag(of: self.author.membership.workspace, self.author.cryptography),
            device: self.author.identity.device,
            staticKey: self.author.identity.publicStaticKey,
            port: port,
            time: self.now.wall
        )
        let bytes = beacon.signed { self.author.cryptography.signature(of: $0, by: self.author.identity.signingKey) }
        self.effects.append(.broadcast(bytes))
    }

    mutating func heardBeacon(_ bytes: [UInt8], fromHost host: String) {
        guard self.configuration.discovers,
            let beacon = Beacon(
                verifying: bytes,
                tag: Beacon.tag(of: self.author.membership.workspace, self.author.cryptography),
                self.author.cryptography,
                isWanted: { self.book[$0.staticKey]?.device == $0.device && !self.isBusy(with: $0.staticKey) }
            ),
            // Only known devices are believed, and never ourselves.
            let entry = self.book[beacon.staticKey]
        else {
            self.counters.ignoredBeaconCount += 1
            return
        }
        let address = NetworkAddress(host: host, port: beacon.port)
        self.book.noteHeard(address, of: beacon.staticKey)
        let wait = entry.nextDial.map { $0 > self.now.monotonicMilliseconds } ?? true
        if wait {
            // The smaller device dials at once; the other gives it a moment, so that two dials seldom cross.
            let delay = self.author.identity.device < entry.device ? 0 : ConnectionTimes.backoffFirst
            let time = self.now.monotonicMilliseconds + delay
            self.book[beacon.staticKey]?.nextDial = min(entry.nextDial ?? time, time)
        }
    }
}
