package import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Reaching other devices: addresses, backoff, beacons.
extension Node where Store: ~Copyable {
    mutating func addAddress(_ address: NetworkAddress) {
        var unknown = DeviceBook.UnknownAddress(nextDial: self.now.monotonicMilliseconds)
        // Whoever was there when we last met is asked for first.
        unknown.owner = self.book.sortedKeys.first { self.book[$0]?.addresses.contains(address) ?? false }
        self.book.unknownAddresses[address] = unknown
    }

    mutating func takePart(_ participation: Participation) {
        self.configuration.listenPort = participation.listenPort
        self.configuration.discovers = participation.discovers
        for address in participation.staticAddresses { self.addAddress(address) }
        self.introduce()
        self.dialAll()
    }

    /// Ends all sessions; what is dialled after this comes to nothing.
    mutating func withdraw() {
        self.configuration.listenPort = nil
        self.configuration.discovers = false
        self.book.unknownAddresses = [:]
        for id in self.connections.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if let connection = self.connections[id] { self.drop(connection) }
        }
    }

    mutating func dialAll() {
        let now = self.now.monotonicMilliseconds
        self.dialAllCount += 1
        for key in self.book.sortedKeys {
            self.book[key]?.nextDial = now
            self.book[key]?.backoff = ConnectionTimes.backoffFirst
            self.book[key]?.avoidedUntil = 0
        }
        for address in self.book.unknownAddresses.keys {
            self.book.unknownAddresses[address]?.nextDial = now
            self.book.unknownAddresses[address]?.backoff = ConnectionTimes.backoffFirst
        }
        if self.configuration.discovers { self.timers.beacon = now }
        // What a peer wrote before it answers comes before its answer.
        for connection in self.readyConnections {
            self.send(.ping(self.shownTime), on: connection)
            connection.awaitedPongCount = connection.openPingCount
        }
    }

    /// Reads who is a member from the log and from pairings.
    mutating func refreshBook() throws(StoreError) {
        let own = self.identity.device
        let known = self.book.segmentCount
        let introductions = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            self.book.segmentCount = transaction.segmentCount
            let segments = transaction.segmentIndices.dropFirst(known)
            return segments.compactMap { transaction.segment($0).introduction }
        }
        for introduction in introductions {
            guard let certificate = introduction.certificates.first, certificate.device != own,
                let author = ChainAuthor(introduction)
            else { continue }
            self.book.add(certificate.keys, name: introduction.deviceName, author)
        }
        for paired in self.admissions.paired {
            self.book.add(paired.keys, name: paired.name, paired.author)
        }
        // A joining device knows its inviter from its own certificates before it has seen anything of the log.
        for (link, certificate) in self.identity.certificates.enumerated() where certificate.device != own {
            guard var author = self.replica.author.author else { continue }
            author.line.removeFirst(link)
            self.book.add(certificate.keys, name: "", author)
        }
        try self.judgeDevices()
    }

    // MARK: - Dialling

    var nextDialTime: UInt64? {
        // Whoever makes room wakes us up.
        guard self.connections.count < ConnectionLimits.countMax else { return nil }
        let busy = self.busy
        var earliest: UInt64?
        for entry in self.book.entries.values {
            guard let next = entry.nextDial, entry.canBeDialled, !busy.bars(entry) else { continue }
            let time = max(next, entry.avoidedUntil)
            earliest = min(earliest ?? time, time)
        }
        for (address, unknown) in self.book.unknownAddresses where !busy.bars(address, unknown) {
            earliest = min(earliest ?? unknown.nextDial, unknown.nextDial)
        }
        return earliest
    }

    mutating func dialWhoeverIsDue() {
        let now = self.now.monotonicMilliseconds
        var busy = self.busy
        let due = self.book.entries.values.filter { entry in
            guard let next = entry.nextDial, entry.canBeDialled else { return false }
            return max(next, entry.avoidedUntil) <= now && !busy.bars(entry)
        }
        for entry in due.sorted(by: { $0.keys < $1.keys }) {
            var entry = entry
            guard let address = entry.takeAddress() else { continue }
            self.book[entry.keys] = entry
            self.dial(address, entry.keys)
            busy.dials[entry.keys, default: 0] += 1
            busy.addresses.insert(address)
        }
        let unknown = self.book.unknownAddresses.filter { $0.value.nextDial <= now }
        for (address, state) in unknown.sorted(by: { ($0.key.host, $0.key.port) < ($1.key.host, $1.key.port) }) {
            guard !busy.bars(address, state) else { continue }
            // A copy of the owner may be there: then whoever answers is asked who it is.
            let owner = state.owner.flatMap { busy.instances[$0] == nil ? $0 : nil }
            self.dial(address, owner)
            if let owner { busy.dials[owner, default: 0] += 1 }
        }
    }

    /// Who need not be dialled.
    ///
    /// What else claims to be a device proves nothing: anyone can play a recorded first message again.
    private struct Busy {
        /// The devices with which there is a session, and the runs of the program with which there is one.
        var instances: [PeerKeys: Set<UInt32>] = [:]
        /// How often devices are being dialled.
        var dials: [PeerKeys: Int] = [:]
        /// Devices that are being dialled where somebody has answered.
        var answered: Set<PeerKeys> = []
        /// The addresses that are being dialled.
        var addresses: Set<NetworkAddress> = []

        /// Whether a device is dialled no more for now: it may be dialled where its beacon says that it is, beside one
        /// dial to where it was.
        func bars(_ entry: DeviceBook.Entry) -> Bool {
            if self.instances[entry.keys] != nil || self.answered.contains(entry.keys) { return true }
            let most = entry.beaconAddress == nil ? 1 : ConnectionLimits.dialCountMaxByDevice
            return self.dials[entry.keys, default: 0] >= most
        }

        func bars(_ address: NetworkAddress, _ unknown: DeviceBook.UnknownAddress) -> Bool {
            if self.addresses.contains(address) { return true }
            guard let owner = unknown.owner else { return false }
            if self.dials[owner] != nil { return true }
            guard let standing = self.instances[owner] else { return false }
            return unknown.instance.map { standing.contains($0) } ?? true
        }
    }

    private var busy: Busy {
        var busy = Busy()
        for connection in self.connections.values {
            if let keys = connection.keys { busy.instances[keys, default: []].insert(connection.instance) }
            guard connection.isDialled else { continue }
            busy.addresses.insert(connection.address)
            guard let expected = connection.expected else { continue }
            busy.dials[expected, default: 0] += 1
            if connection.hasBegun { busy.answered.insert(expected) }
        }
        return busy
    }

    /// Whether some connection is being opened, or will be since everyone was to be dialled.
    var isDialling: Bool {
        if self.connections.values.contains(where: { $0.isDialled && $0.device == nil }) { return true }
        return self.book.entries.values.contains { entry in
            entry.canBeDialled && entry.endedDialAllCount < self.dialAllCount && !self.isInSession(with: entry.keys)
        }
    }

    func isInSession(with keys: PeerKeys) -> Bool { self.connections.values.contains { $0.keys == keys } }

    /// The dials of a device where nobody has answered yet.
    private func vainDials(of keys: PeerKeys) -> [PeerConnection] {
        self.connections.values.filter { $0.isDialled && !$0.hasBegun && $0.expected == keys }
    }

    /// Ends the dials of a device that has been met otherwise.
    mutating func endVainDials(of keys: PeerKeys) {
        for dial in self.vainDials(of: keys).sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            self.connections[dial.id] = nil
            self.effects.append(.close(dial.id, afterFlush: false))
        }
    }

    /// `keys`: whom to expect; nil to ask for any member.
    private mutating func dial(_ address: NetworkAddress, _ keys: PeerKeys?) {
        guard self.connections.count < ConnectionLimits.countMax else { return }
        let id = ConnectionID(rawValue: self.nextConnection)
        self.nextConnection += 1
        let now = self.now.monotonicMilliseconds
        // The handshake is made when somebody answers: most dials of an absent peer come to nothing.
        let connection = PeerConnection(
            id: id,
            isDialled: true,
            address: address,
            dialAllCount: self.dialAllCount,
            link: .answering(ownStatic: self.identity.publicStaticKey),
            session: SyncSession(isDialled: true, self.cryptography),
            deadline: now + ConnectionTimes.dialDeadline,
            now: now
        )
        connection.expected = keys
        self.connections[id] = connection
        self.effects.append(.dial(id, address))
    }

    mutating func dialFailed(_ id: ConnectionID) {
        guard let connection = self.connections.removeValue(forKey: id) else { return }
        self.dialEnded(connection)
    }

    /// A dial came to nothing: wait longer before the next.
    mutating func dialEnded(_ connection: PeerConnection) {
        if let keys = connection.expected, !self.isInSession(with: keys) {
            self.book[keys]?.noteEnd(of: connection)
            // Someone answered, and did not want to know us: to whom we are unknown we show our certificates.
            if connection.hasBegun {
                if connection.link.greeting == .member { self.book[keys]?.membershipKeyNumber += 1 }
                self.book[keys]?.isDialledAsMember.toggle()
            }
            self.scheduleRedial(keys, from: nil)
        }
        guard let unknown = self.book.unknownAddresses[connection.address] else { return }
        let failure: AddressFailure = connection.failure ?? (connection.hasBegun ? .hungUp : .unreachable)
        if unknown.isHeard {
            self.book.unknownAddresses[connection.address] = nil
            return
        }
        let (wait, backoff) = self.nextBackoff(unknown.backoff)
        self.book.unknownAddresses[connection.address]?.nextDial = self.now.monotonicMilliseconds + wait
        self.book.unknownAddresses[connection.address]?.backoff = backoff
        if connection.hasBegun { self.book.unknownAddresses[connection.address]?.membershipKeyNumber += 1 }
        // Whoever was there before may have left the address to another.
        self.book.unknownAddresses[connection.address]?.owner = nil
        if unknown.failure != failure {
            self.book.unknownAddresses[connection.address]?.failure = failure
            self.effects.append(.notice(.addressFailed(connection.address, failure)))
        }
    }

    /// `backoff`: with what wait to begin, after a session; nil to go on with what is due after a failed dial.
    mutating func scheduleRedial(_ key: PeerKeys, from backoff: UInt64?) {
        guard var entry = self.book[key] else { return }
        if let backoff { entry.backoff = backoff }
        let (wait, next) = self.nextBackoff(entry.backoff)
        let time = self.now.monotonicMilliseconds + wait
        // Where a beacon says that the device is, it is dialled without regard to failures elsewhere.
        entry.nextDial = entry.beaconAddress == nil ? time : min(entry.nextDial ?? time, time)
        entry.backoff = next
        self.book[key] = entry
        for (address, unknown) in self.book.unknownAddresses
        where unknown.owner == key || backoff != nil && unknown.owner == nil {
            self.book.unknownAddresses[address]?.nextDial = self.now.monotonicMilliseconds + wait
            self.book.unknownAddresses[address]?.backoff = next
        }
    }

    /// Of copies of a device, one whose session has ended is looked for where it was, while others are in sessions.
    ///
    /// `backoff`: with what wait to begin.
    mutating func scheduleReturn(to instance: UInt32, of key: PeerKeys, from backoff: UInt64) {
        let (wait, next) = self.nextBackoff(backoff)
        for (address, unknown) in self.book.unknownAddresses
        where unknown.owner == key && unknown.instance == instance {
            self.book.unknownAddresses[address]?.nextDial = self.now.monotonicMilliseconds + wait
            self.book.unknownAddresses[address]?.backoff = next
        }
    }

    /// Who broke the protocol is left alone for a while, each time in a row for longer: what it says will hardly be
    /// better at once.
    mutating func avoid(_ key: PeerKeys) {
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
        let half = backoff / 2
        let wait = half + self.replica.author.entropy.nextUInt64() % (backoff - half + 1)
        return (wait, min(backoff * 2, ConnectionTimes.backoffMax))
    }

    // MARK: - Addresses that are remembered

    /// Takes note of where a device was reached, and remembers it over restarts.
    mutating func remember(_ address: NetworkAddress, of key: PeerKeys) {
        guard self.book[key]?.addresses.first != address else { return }
        self.book.note(address, of: key)
        let records = self.book.sortedKeys.flatMap { key in
            (self.book[key]?.addresses ?? []).reversed().map {
                AddressRecord(device: key.device, staticKey: key.staticKey, host: $0.host, port: $0.port)
            }
        }
        do throws(StoreError) {
            try self.replica.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try transaction.setAddresses(records)
            }
        } catch {
            self.note(error)
        }
    }

    mutating func restoreAddresses(_ records: [AddressRecord]) {
        for record in records {
            let keys = PeerKeys(device: record.device, staticKey: record.staticKey)
            self.book.note(NetworkAddress(host: record.host, port: record.port), of: keys)
        }
        for key in self.book.sortedKeys { self.book[key]?.nextDial = self.now.monotonicMilliseconds }
    }

    /// Notes where the inviter of a device that has just joined can be reached, before its first meeting.
    package mutating func noteInviter(_ key: StaticKey, addresses: [NetworkAddress]) {
        for keys in self.book.sortedKeys where keys.staticKey == key {
            for address in addresses.reversed() { self.remember(address, of: keys) }
            self.book[keys]?.nextDial = self.now.monotonicMilliseconds
        }
    }

    // MARK: - Beacons

    mutating func sendBeacon() {
        let jitter = self.replica.author.entropy.nextUInt64() % (ConnectionTimes.beaconInterval / 4)
        self.timers.beacon = self.now.monotonicMilliseconds + ConnectionTimes.beaconInterval - jitter
        guard let port = self.configuration.listenPort else { return }
        let beacon = Beacon(
            device: self.identity.device,
            staticKey: self.identity.publicStaticKey,
            port: port,
            time: self.now.wall
        )
        let bytes = beacon.signed(SecretBytes(self.nextBeaconKey().array)) {
            self.cryptography.signature(of: $0, by: self.identity.signingKey)
        }
        self.effects.append(.broadcast(bytes))
    }

    /// The newest membership key, and each second time one of the older ones in turn: of two who have each removed
    /// somebody, apart from each other, none knows the newest key of the other.
    private mutating func nextBeaconKey() -> Bytes32 {
        let (keys, number) = (self.membershipKeys, self.beaconCount)
        self.beaconCount &+= 1
        guard keys.count > 1, number % 2 == 1 else { return keys[0] }
        return keys[1 + number / 2 % (keys.count - 1)]
    }

    mutating func heardBeacon(_ bytes: [UInt8], fromHost host: String) {
        let now = self.now.monotonicMilliseconds
        guard self.configuration.discovers,
            let beacon = Beacon(
                verifying: bytes,
                self.membershipKeys,
                self.cryptography,
                isWanted: { self.isNews($0, at: now) }
            )
        else {
            self.counters.ignoredBeaconCount += 1
            return
        }
        let address = NetworkAddress(host: host, port: beacon.port)
        guard let entry = self.book[beacon.keys] else { return self.heardUnknown(address) }
        self.recall(beacon.keys)
        self.book.noteHeard(address, of: beacon.keys)
        // The same one comes over each interface, and from wherever somebody sends it again.
        if let last = entry.lastBeacon, beacon.time == last.time { return }
        self.book[beacon.keys]?.lastBeacon = (beacon.time, now)
        // The smaller device dials at once; the other gives it a moment, so that two dials seldom cross.
        let delay = self.identity.device < entry.device ? 0 : ConnectionTimes.backoffFirst
        let dials = self.vainDials(of: beacon.keys)
        if !dials.isEmpty {
            // It may have been elsewhere when that was begun, which shows only after seconds.
            guard !dials.contains(where: { $0.address == address }) else { return }
            self.book[beacon.keys]?.beaconAddress = address
            self.book[beacon.keys]?.nextDial = now + delay
            return
        }
        guard entry.nextDial.map({ $0 > now }) ?? true else { return }
        self.book[beacon.keys]?.nextDial = min(entry.nextDial ?? (now + delay), now + delay)
    }

    /// Whether a beacon says what is not known; a recorded one, sent again, does not.
    private func isNews(_ beacon: Beacon, at now: UInt64) -> Bool {
        guard beacon.device != self.identity.device, !self.isAnswered(by: beacon.keys) else { return false }
        guard let last = self.book[beacon.keys]?.lastBeacon else { return true }
        // A clock may be put right, so that an earlier time is believed after a while.
        return beacon.time >= last.time || now >= last.heard + ConnectionTimes.beaconMemory
    }

    /// Whether there is a session with a device, or somebody has answered where it was dialled.
    private func isAnswered(by keys: PeerKeys) -> Bool {
        self.connections.values.contains { connection in
            connection.keys == keys || connection.isDialled && connection.hasBegun && connection.expected == keys
        }
    }

    /// A member that nobody has told us of has named its address.
    private mutating func heardUnknown(_ address: NetworkAddress) {
        let heard = self.book.unknownAddresses.values.count(where: \.isHeard)
        guard self.book.unknownAddresses[address] == nil, heard < ConnectionLimits.heardAddressCountMax else { return }
        self.book.unknownAddresses[address] =
            DeviceBook.UnknownAddress(nextDial: self.now.monotonicMilliseconds, isHeard: true)
    }
}
