package import CRDTCore

/// More chains and forks than anybody needs, and the device that answers for them.
package struct Crowd: Hashable, Sendable {
    package var device: DeviceID
    package var deviceName: String
    package var segmentCount: Int
    /// Whether most are those of other devices that this one vouches for.
    package var isByOthers: Bool

    /// A device opens one each time it is put back to a backup, or its clock is set right.
    package static let segmentCountMin = 1 << 10

    /// The devices that have opened so many, or vouch for those that have; the user's first device, which vouches for
    /// all, answers for its own alone.
    ///
    /// - Complexity: O(*n*) in the chains and forks.
    package static func all(in transaction: borrowing some StoreTransaction) -> [Crowd] {
        var names: [DeviceID: String] = [:]
        var own: [DeviceID: Int] = [:]
        var vouched: [DeviceID: Int] = [:]
        for segment in transaction.segmentIndices {
            guard let introduction = transaction.segment(segment).introduction,
                let device = introduction.device
            else { continue }
            names[device] = introduction.deviceName
            own[device, default: 0] += 1
            for certificate in introduction.certificates.dropFirst().dropLast() {
                vouched[certificate.device, default: 0] += 1
            }
        }
        return Set(own.keys).union(vouched.keys).sorted().compactMap { device in
            let (ownCount, vouchedCount) = (own[device] ?? 0, vouched[device] ?? 0)
            guard ownCount + vouchedCount >= self.segmentCountMin else { return nil }
            return Crowd(
                device: device,
                deviceName: names[device] ?? String(device.description.prefix(8)),
                segmentCount: ownCount + vouchedCount,
                isByOthers: vouchedCount > ownCount
            )
        }
    }
}
