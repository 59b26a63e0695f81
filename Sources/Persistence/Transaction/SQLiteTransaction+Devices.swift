package import CRDTCore
package import Engine

extension SQLiteTransaction {
    package func pairedDevices() throws(StoreError) -> [PairedDeviceRecord] {
        let statement = try self.statements[.pairedDevices]
        defer { statement.reset() }
        var devices: [PairedDeviceRecord] = []
        while try statement.step() {
            devices.append(
                PairedDeviceRecord(
                    device: DeviceID(bytes: try statement.bytes32(0)),
                    staticKey: StaticKey(bytes: try statement.bytes32(1)),
                    name: statement.text(2),
                    lapse: statement.isNull(3) ? nil : WallTime(milliseconds: statement.bits(3))
                )
            )
        }
        return devices
    }

    package func setPairedDevices(_ devices: [PairedDeviceRecord]) throws(StoreError) {
        try self.statements[.clearPairedDevices].run()
        let statement = try self.statements[.addPairedDevice]
        for device in devices {
            statement.bind(1, device.device.bytes.array)
            statement.bind(2, device.staticKey.bytes.array)
            statement.bind(3, device.name)
            statement.bind(4, device.lapse.map { Int64(bitPattern: $0.milliseconds) })
            try statement.run()
        }
    }

    package func invites() throws(StoreError) -> [InviteRecord] {
        let statement = try self.statements[.invites]
        defer { statement.reset() }
        var invites: [InviteRecord] = []
        while try statement.step() {
            let expiry = WallTime(milliseconds: statement.bits(1))
            invites.append(InviteRecord(secret: try statement.bytes32(0), expiry: expiry))
        }
        return invites
    }

    package func setInvites(_ invites: [InviteRecord]) throws(StoreError) {
        try self.statements[.clearInvites].run()
        let statement = try self.statements[.addInvite]
        for invite in invites {
            statement.bind(1, invite.secret.array)
            statement.bind(2, bits: invite.expiry.milliseconds)
            try statement.run()
        }
    }

    package func addresses() throws(StoreError) -> [AddressRecord] {
        let statement = try self.statements[.addresses]
        defer { statement.reset() }
        var addresses: [AddressRecord] = []
        while try statement.step() {
            guard let port = UInt16(exactly: statement.int64(3)) else {
                throw .damaged("an address in the database has a port that cannot be")
            }
            addresses.append(
                AddressRecord(
                    device: DeviceID(bytes: try statement.bytes32(0)),
                    staticKey: StaticKey(bytes: try statement.bytes32(1)),
                    host: statement.text(2),
                    port: port
                )
            )
        }
        return addresses
    }

    package func setAddresses(_ addresses: [AddressRecord]) throws(StoreError) {
        try self.statements[.clearAddresses].run()
        let statement = try self.statements[.addAddress]
        for address in addresses {
            statement.bind(1, address.device.bytes.array)
            statement.bind(2, address.staticKey.bytes.array)
            statement.bind(3, address.host)
            statement.bind(4, Int64(address.port))
            try statement.run()
        }
    }
}
