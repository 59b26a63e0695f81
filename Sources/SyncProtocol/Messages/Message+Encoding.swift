internal import CRDTCore

extension Message {
    /// The message with its kind and length in front, as it goes into the sealed stream.
    package func encoded() -> [UInt8] {
        let body = self.body
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + 6)
        bytes.append(self.kind.rawValue)
        bytes.appendPrefixed(body)
        return bytes
    }

    var kind: MessageKind {
        switch self {
        case .hello: .hello
        case .welcome: .welcome
        case .join: .join
        case .member: .member
        case .ranges: .ranges
        case .run: .run
        case .caughtUp: .caughtUp
        case .stored: .stored
        case .credit: .credit
        case .eagerness: .eagerness
        case .probe: .probe
        case .wanted: .wanted
        case .given: .given
        case .state: .state
        case .sums: .sums
        case .objects: .objects
        case .ended: .ended
        case .parcel: .parcel
        case .parcelTaken: .parcelTaken
        case .blob(let message): message.kind
        case .ping: .ping
        case .pong: .pong
        }
    }

    private var body: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .hello(let hello): hello.encode(to: &bytes)
        case .welcome(let welcome): welcome.encode(to: &bytes)
        case .join(let request):
            request.device.bytes.append(to: &bytes)
            bytes.appendPrefixed(Array(request.deviceName.utf8))
            bytes.append(contentsOf: request.proof.array)
            request.person?.encode(to: &bytes)
        case .member(let introduction): introduction.encode(to: &bytes)
        case .ranges(let ranges):
            bytes.appendVarint(UInt64(ranges.count))
            for range in ranges { range.encode(to: &bytes) }
        case .run(let run): bytes = Compression.compress(run.encoded())
        case .blob(let message): message.encode(to: &bytes)
        case .caughtUp, .given: break
        case .wanted(let contents):
            bytes.appendVarint(UInt64(contents.count))
            for content in contents {
                content.change.encode(to: &bytes)
                content.places.encode(to: &bytes)
            }
        case .ended(let circles):
            bytes.appendVarint(UInt64(circles.count))
            for circle in circles { circle.encode(to: &bytes) }
        case .stored(let entries):
            bytes.appendVarint(UInt64(entries.count))
            for entry in entries { entry.encode(to: &bytes) }
        case .state(let claim):
            claim.frontier.bytes.append(to: &bytes)
            claim.root.bytes.append(to: &bytes)
        case .sums(let sums):
            sums.frontier.bytes.append(to: &bytes)
            for sum in sums.sums { bytes.appendBigEndian(sum) }
        case .objects(let objects):
            objects.frontier.bytes.append(to: &bytes)
            bytes.appendVarint(UInt64(objects.groups.count))
            for group in objects.groups { bytes.appendVarint(UInt64(group)) }
            bytes.appendVarint(UInt64(objects.objects.count))
            for object in objects.objects {
                object.id.bytes.append(to: &bytes)
                bytes.appendBigEndian(object.digest)
            }
        case .credit(let number): bytes.appendVarint(number)
        case .parcel(let parcel): bytes += parcel.encoded()
        case .parcelTaken(let id): id.bytes.append(to: &bytes)
        case .ping(let time), .pong(let time): bytes.appendVarint(time?.milliseconds ?? 0)
        case .eagerness(let flag): bytes.append(flag ? 1 : 0)
        case .probe(let probe):
            probe.replica.bytes.append(to: &bytes)
            bytes.appendVarint(UInt64(probe.points.count))
            for point in probe.points {
                bytes.appendVarint(point.sequence)
                point.hash.bytes.append(to: &bytes)
            }
        }
        return bytes
    }
}

extension Hello {
    fileprivate func encode(to bytes: inout [UInt8]) {
        bytes.appendVarint(self.version)
        bytes.appendBigEndian(self.deviceStart)
        bytes.appendVarint(self.wallTime?.milliseconds ?? 0)
        bytes.appendVarint(UInt64(self.port))
        self.fingerprint.bytes.append(to: &bytes)
        bytes.append(contentsOf: self.proof.array)
        bytes.appendVarint(UInt64(self.instance))
    }
}

extension Welcome {
    fileprivate func encode(to bytes: inout [UInt8]) {
        self.founder.bytes.append(to: &bytes)
        self.workspaceNonce.append(to: &bytes)
        self.user.bytes.append(to: &bytes)
        self.membershipKey.append(to: &bytes)
        self.inviter.bytes.append(to: &bytes)
        self.certificates.encode(to: &bytes)
    }
}

extension FrontierRange {
    fileprivate func encode(to bytes: inout [UInt8]) {
        bytes.append(self.end == nil ? 0 : 1)
        self.end?.bytes.append(to: &bytes)
        switch self.claim {
        case .skip: bytes.append(0)
        case .fingerprint(let hash):
            bytes.append(1)
            hash.bytes.append(to: &bytes)
        case .entries(let entries), .answer(let entries):
            if case .entries = self.claim { bytes.append(2) } else { bytes.append(3) }
            bytes.appendVarint(UInt64(entries.count))
            for entry in entries { entry.encode(to: &bytes) }
        case .equal: bytes.append(4)
        }
    }
}
